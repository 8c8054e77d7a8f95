"""Skips are counted: a test that CI skips is one that the machine cannot run, for a reason that is known."""
