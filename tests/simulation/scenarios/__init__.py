"""Scenarios: the model of a row (``scenario``), one table per subject, and all rows by name (``catalogue``)."""
