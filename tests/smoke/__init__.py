"""What `make test` plays with real processes: one cluster and one musterd, a gang of each framework, all at once."""
