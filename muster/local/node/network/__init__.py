"""Addresses, names and bridges of pods."""
