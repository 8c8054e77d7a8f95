"""Durations, quantities, times and other values of single fields."""
