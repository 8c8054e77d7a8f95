"""Isolation of pods: which level this machine permits, cgroups, and the connection to the launcher process.

`frames` is imported by the launcher too, so this package must import nothing.
"""
