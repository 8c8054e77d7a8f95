"""Connections from the daemon to tenants' pods that bound what a peer can cost, and the protocols on them."""
