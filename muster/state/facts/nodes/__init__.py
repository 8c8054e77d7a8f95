"""Failures of nodes over hours and days, and the suspect nodes."""
