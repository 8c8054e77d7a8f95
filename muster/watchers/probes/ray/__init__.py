"""Reads the roll of a Ray cluster from its dashboard over HTTP, with no effect on the cluster."""
