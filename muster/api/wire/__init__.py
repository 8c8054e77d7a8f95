"""The status as it is written to and read from the API server."""
