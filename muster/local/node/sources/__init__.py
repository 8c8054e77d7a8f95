"""What a container is given: variables and volumes from ConfigMaps, Secrets, the downward API and tokens."""
