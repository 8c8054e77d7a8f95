"""The containers of a pod: from their spec to a process, its probes, logs, restarts and reported state.

`runner` runs one container from its first start to its end; the other modules have one rule each.
"""
