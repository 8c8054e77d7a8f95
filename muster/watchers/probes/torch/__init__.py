"""Reads from PyTorch's TCPStore, from outside the job, which processes have joined."""

from muster.watchers.probes.torch.probe import TorchProbe

__all__ = ["TorchProbe"]
