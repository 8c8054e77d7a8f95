"""Causes of members that are missing or not at work: one row each, with all its consequences."""
