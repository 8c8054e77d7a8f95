"""Reads the roll of a Ray cluster from its dashboard over HTTP, with no effect on the cluster."""

from muster.watchers.probes.ray.probe import RayProbe

__all__ = ["RayProbe"]
