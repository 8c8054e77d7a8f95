"""Verbs that read a file and need no cluster."""
