"""One pod on the node: containers, environment, volumes, probes, logs, status."""
