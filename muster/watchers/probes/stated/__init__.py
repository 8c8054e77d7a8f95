"""Probes that an annotation of a watched run states: whether its coordinator serves, by tcp, http or grpc."""

from muster.watchers.probes.stated.probe import StatedProbe

__all__ = ["StatedProbe"]
