"""The HTTP side of the local API server."""
