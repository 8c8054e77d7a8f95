"""What the plans of several kinds have in common."""
