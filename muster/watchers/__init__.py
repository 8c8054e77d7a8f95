"""The watchers: watched objects become small flat records."""
