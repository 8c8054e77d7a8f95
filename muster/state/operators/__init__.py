"""One file per operator: its spec becomes a plan."""
