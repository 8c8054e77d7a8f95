"""Asks NCCL's RAS, where the processes of a gang use NCCL and let it be asked."""

from muster.watchers.probes.nccl.probe import RasProbe

__all__ = ["RasProbe"]
