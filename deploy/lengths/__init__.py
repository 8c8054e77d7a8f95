"""How long documents are, and how long their sentences: limits that only fall."""
