"""The served resources: their registry, validation of metadata, and defaults, validation and admission of pods.

A built-in kind without rules of its own is a row in `resources`.
"""
