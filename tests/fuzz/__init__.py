"""Poison: hostile objects, pushed through everything between the wire and the decision."""
