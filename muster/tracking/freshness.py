"""The resourceVersions that the caches must reach before the next decision about an experiment.

Watch streams are independent and may be late. Nothing is decided on an experiment or on pods that are older than our
own last writes to them (read your own writes), nor on pods that are older than a record that another daemon, or an
earlier run of this one, wrote after it had seen them. Compared with such a record, a running member seems to be Pending
again, and an ended pod that is kept for its logs seems to run still.
"""

from dataclasses import dataclass
from enum import StrEnum

from muster.state.view.engine_facts import LiveRead


class Readiness(StrEnum):
    """The step that may follow."""

    WAIT = "wait"
    """A cache is behind our own writes: wait until it has advanced."""
    READ_PODS = "read-pods"
    """The cached pods are older than a record of another kind: read them from the live API first."""
    DECIDE = "decide"


@dataclass(slots=True)
class Freshness:
    """The resourceVersions that the caches of one experiment must have reached."""

    version: int = 0
    """The version of the known record: our last status write, or the newest that the watch delivered."""
    pods_due: int = 0
    """The version of our newest write to a pod."""
    workloads_due: int = 0
    """The version of our newest write to a Workload."""
    object_version: int = 0
    """The version of a record that this daemon did not write; 0 when the latest record is its own."""

    def ready(self, *, seen: int, pods: int, live_read: LiveRead | None, workloads: int = 0) -> Readiness:
        """Return the step for an Experiment cached at ``seen`` and a pod cache that has reached ``pods``.

        ``workloads`` is the version that the cache of Workloads has reached.
        """
        if seen < self.version or pods < self.pods_due or workloads < self.workloads_due:
            return Readiness.WAIT
        if max(pods, live_read.version if live_read else 0) < self.object_version:
            return Readiness.READ_PODS
        return Readiness.DECIDE

    def wrote_workload(self, version: int) -> None:
        """Note a write to a Workload that was answered with that resourceVersion (0: none was written)."""
        self.workloads_due = max(self.workloads_due, version)

    def wrote_pods(self, version: int) -> None:
        """Note a write to a pod that was answered with that resourceVersion (0: none was written)."""
        self.pods_due = max(self.pods_due, version)
