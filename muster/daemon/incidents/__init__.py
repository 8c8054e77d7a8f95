"""The look for incidents of the daemon that leads, and what it knows of nodes for that."""
