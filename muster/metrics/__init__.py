"""The metrics catalogue, the instruments, and the collector that reads the state when Prometheus scrapes."""
