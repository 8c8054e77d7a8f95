"""Patches: JSON patch, merge patch, strategic merge and server-side apply."""
