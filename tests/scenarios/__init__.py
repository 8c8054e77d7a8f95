"""Scenarios: what is submitted, what goes wrong, and how it must end and be charged.

``scenario`` has the model of a row; one table per subject has the rows; ``catalogue`` has all of them by name. Each
driver plays those that its world can play: ``tests.simulation``, ``tests.faults``, ``tests.e2e`` and ``tests.real``.
"""
