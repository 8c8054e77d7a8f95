"""Schemas: of built-in kinds and of custom resources.

`validation` applies them to an object before it is stored.
"""
