"""Watched runs in the daemon: their watches, which of them are subjects, and a record that lives in memory."""
