"""The containers of a pod: environment, volumes, probes, logs, states, restarts."""
