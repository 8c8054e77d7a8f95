"""Schemas: of built-in kinds, of custom resources and their CEL rules, and the OpenAPI documents made from them.

`validation` applies them to an object before it is stored.
"""
