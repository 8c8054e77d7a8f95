"""Schemas of custom resources: validation, defaults, pruning, CEL rules."""
