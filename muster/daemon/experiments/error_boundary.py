"""The boundary of each experiment: an unexpected exception that its objects cause stays with it.

A step runs inside the work queue, which retries a key that failed. Changes of objects come from a watch stream that all
experiments share. There, an exception is logged with the experiment and counted, and the experiment is marked as
damaged: what the index knows of it may be half a change. Its next step rebuilds that from the watch caches before
anything is decided. If the rebuilding fails too, the queue retries it with the key's back-off. The stream, the other
experiments and the daemon go on.
"""

from collections.abc import Callable, Iterable

import structlog

from muster.api.names import KIND
from muster.daemon.experiments.index import ExperimentIndex
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Workload
from muster.tracking.entry import Entry
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.services import ServiceRecord

log = structlog.get_logger()


class ErrorBoundary:
    """Applies changes to the index.

    ``requeue`` is called once for each experiment that is damaged; ``count`` counts an exception by place.
    """

    def __init__(self, index: ExperimentIndex, requeue: Callable[[str], None], count: Callable[[str], None]) -> None:
        self._index = index
        self._requeue = requeue
        self._count = count
        self.damaged: dict[str, ExperimentRecord | None] = {}
        """By uid; the Experiment that could not be read, with its spec and status, which no cache keeps."""

    def experiment_changed(self, old: ExperimentRecord | None, new: ExperimentRecord | None) -> None:
        """See ``ExperimentIndex``."""
        either = new or old
        try:
            self._index.experiment_changed(old, new)
        except Exception as error:  # noqa: BLE001 - whatever one object causes must not reach the others
            self._damage("watch", error, either)
            if either is not None:
                self.damaged[either.uid] = new
        else:
            if either is not None and either.uid in self.damaged:
                self.damaged[either.uid] = None
                if new is None:  # its key left the queue with it, and what is left of it must be forgotten
                    self._requeue(either.uid)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """See ``ExperimentIndex``."""
        try:
            self._index.pod_changed(old, new)
        except Exception as error:  # noqa: BLE001
            self._damage("watch", error, old, new)

    def service_changed(self, old: ServiceRecord | None, new: ServiceRecord | None) -> None:
        """See ``ExperimentIndex``."""
        try:
            self._index.service_changed(old, new)
        except Exception as error:  # noqa: BLE001
            self._damage("watch", error, old, new)

    def workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        """See ``ExperimentIndex``."""
        try:
            self._index.workload_changed(old, new)
        except Exception as error:  # noqa: BLE001
            self._damage("watch", error, old, new)

    def experiments_went_back(self, version: int, kind: str = KIND) -> None:
        """See ``ExperimentIndex``; no object is read for it."""
        self._index.experiments_went_back(version, kind)

    def undone(self, seen: ExperimentRecord, version: int) -> bool:
        """See ``ExperimentIndex``; no object is read for it."""
        return self._index.undone(seen, version)

    def pods_went_back(self, version: int) -> None:
        """See ``ExperimentIndex``; no object is read for it."""
        self._index.pods_went_back(version)

    def clock_stepped(self, entry: Entry, seconds: float) -> None:
        """See ``Entry``."""
        try:
            entry.clock_stepped(seconds)
        except Exception as error:  # noqa: BLE001
            self._damage("clock", error, entry.seen)

    def repair(
        self,
        uid: str,
        known: bool,
        pods: Iterable[Pod],
        services: Iterable[ServiceRecord],
        workloads: Iterable[Workload] = (),
    ) -> None:
        """Rebuild a damaged experiment from what the caches have: whether it exists, its pods, Services and Workloads.

        Raises what that raises; the experiment stays damaged then.
        """
        self._index.rebuild(
            uid, known=known, unread=self.damaged[uid], pods=pods, services=services, workloads=workloads
        )
        del self.damaged[uid]
        log.info("experiment rebuilt from the caches", uid=uid)

    def _damage(
        self, place: str, error: Exception, *objects: ExperimentRecord | Pod | ServiceRecord | Workload | None
    ) -> None:
        """Mark the experiments that these objects belong to."""
        self._count(place)
        for obj in objects:
            uid = "" if obj is None else obj.uid if isinstance(obj, ExperimentRecord) else obj.owner
            if obj is not None and uid:
                log.error(
                    "change of an object failed, rebuilding its experiment",
                    place=place,
                    namespace=obj.namespace,
                    object=obj.name,
                    uid=uid,
                    exc_info=error,
                )
                if uid not in self.damaged:
                    self.damaged[uid] = None
                    self._requeue(uid)
