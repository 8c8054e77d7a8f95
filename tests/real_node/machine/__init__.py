"""A machine: a process tree with a network, mounts, process ids and control groups of its own, in which a node runs."""
