"""The module that is mounted; it imports nothing of Muster."""
