"""The kinds that the local API server knows, and their rules."""
