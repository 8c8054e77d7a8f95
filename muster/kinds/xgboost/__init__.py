"""Operator ``xgboost``."""
