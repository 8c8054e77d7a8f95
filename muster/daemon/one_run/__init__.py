"""Watches over one run in the process of a command: musterd's own rules, and nothing is written."""
