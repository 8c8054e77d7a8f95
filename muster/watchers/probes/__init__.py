"""Probes: read-only requests to the coordinators of experiments."""
