"""Reads the metadata of any object for its plan."""

from collections.abc import Mapping

from muster.api.names import QUEUE_LABEL
from muster.api.values.printable import word

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""Finalizers of the API server (metav1: FinalizerOrphanDependents, FinalizerDeleteDependents)."""


def local_queue_of(labels: object) -> str:
    """Return the queue that the label of an object names, other than an Experiment; empty without one."""
    named = labels.get(QUEUE_LABEL) if isinstance(labels, Mapping) else None
    return word(named) if isinstance(named, str) else ""
