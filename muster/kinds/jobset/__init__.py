"""Operator ``jobset``, and JobSets."""
