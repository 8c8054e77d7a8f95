"""Connections from the daemon to tenants' pods, with a bound on the cost of a peer, and the protocols on them."""
