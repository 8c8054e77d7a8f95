"""Which pod of a watched run has which place."""
