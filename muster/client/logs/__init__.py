"""Logs: of one pod, of a gang, followed, and the last line of each rank."""
