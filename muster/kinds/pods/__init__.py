"""Labelled pods."""
