"""Kinds of other projects whose objects Muster runs: models of their specs, with their defaults and checks."""
