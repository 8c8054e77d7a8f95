"""Pods become records."""
