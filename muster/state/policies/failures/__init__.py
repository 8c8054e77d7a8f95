"""Failures of members: which rule applies, what it costs, what runs again."""
