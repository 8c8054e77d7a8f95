"""Operator ``pytorch``."""
