"""Oracles: what must hold while a plan is played, and at its end."""
