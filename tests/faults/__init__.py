"""Real musterd processes, the API server of the local cluster, and a proxy between them that injects faults."""
