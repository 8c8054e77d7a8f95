"""Kinds that are observed: one file per kind; an object of it becomes a plan without actions."""
