"""Inputs of a container: variables and volumes from ConfigMaps, Secrets, the downward API and tokens."""
