"""Objects, their versions and their history; patches and garbage collection."""
