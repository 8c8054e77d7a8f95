"""Manifests and Experiments: models, and loading from text with line and column in every error."""
