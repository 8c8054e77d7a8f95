"""Objects of other kinds: one file per kind (and what its pods need); its spec becomes a plan."""
