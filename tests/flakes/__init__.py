"""Tests that fail beside others and pass alone: they are recorded, counted, and never simply forgiven."""
