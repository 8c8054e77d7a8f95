"""Schemas: of built-in kinds, of custom resources and their CEL rules, and the OpenAPI documents that kubectl reads.

`validation` applies them to an object before it is stored.
"""
