"""The simulated world: API server, nodes, programs, users, and the runs of the daemon."""
