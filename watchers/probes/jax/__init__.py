"""The roll call of the JAX coordination service, read from outside the job and without an effect on it."""

from muster.watchers.probes.jax.probe import JaxProbe

__all__ = ["JaxProbe"]
