"""Causes: why a member is not there or not at work, one row each, with all that follows from it."""
