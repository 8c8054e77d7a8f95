"""Hangs of real jax processes: whether the rank that holds the others up is named, where, and how soon."""
