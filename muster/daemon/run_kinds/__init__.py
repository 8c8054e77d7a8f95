"""Objects of other kinds in the daemon: their watches, how they are read, and when their own status is due."""
