"""The scheduler of the one node."""
