"""The pod template of a group: what a user may set, and how it is checked."""
