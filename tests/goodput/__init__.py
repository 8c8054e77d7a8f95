"""Where the time went, as Muster counts it and as a real program's own log says it."""
