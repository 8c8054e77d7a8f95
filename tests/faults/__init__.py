"""The real musterd, the real API server of the local cluster, and a proxy between them that does wrong on order."""
