"""The reports of the controller of a watched object."""
