"""What the converters of several kinds have in common."""
