"""The modules that are mounted; they import nothing of Muster."""
