"""How pods are kept apart, and the launcher process that starts them."""
