"""Watched objects become small flat records."""
