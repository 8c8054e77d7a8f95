"""Manifests of any kind: as they are, or converted to an Experiment."""
