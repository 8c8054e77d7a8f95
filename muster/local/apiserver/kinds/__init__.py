"""The served resources: their registry, and defaults, validation and admission of the kinds that have their own.

A built-in kind without rules of its own is a row in `resources`.
"""
