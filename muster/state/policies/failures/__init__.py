"""Failures: what follows when a member fails or is lost: which rule applies, what it costs, what runs again."""
