"""Starts the project's own programs by fork from one process that has imported them."""
