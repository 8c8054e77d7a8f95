"""What the controller of a watched object says of it."""
