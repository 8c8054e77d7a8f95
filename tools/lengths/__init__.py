"""Limits for the length of documents, and of their sentences: limits that only fall."""
