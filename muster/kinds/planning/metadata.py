"""Reads the metadata of any object for its plan."""

from muster.api.names import QUEUE_LABEL
from muster.api.values.printable import word
from muster.kinds.declaration.watched_kind import texts_of

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""Finalizers of the API server (metav1: FinalizerOrphanDependents, FinalizerDeleteDependents)."""


def local_queue_of(labels: object) -> str:
    """Return the queue that the label of an object names, other than an Experiment; empty without one."""
    return word(texts_of(labels).get(QUEUE_LABEL, ""))
