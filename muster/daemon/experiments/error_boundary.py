"""The boundary of each experiment: an unexpected exception that its objects cause stays with it.

A step runs inside the work queue, which retries a key that failed. Changes of objects come from a watch stream that all
experiments share. There, an exception is logged with the experiment and counted, and the experiment is marked as
damaged: what the index knows of it may be half a change. Its next step rebuilds that from the watch caches before
anything is decided. If the rebuilding fails too, the queue retries it with the key's back-off. The stream, the other
experiments and the daemon continue.
"""

from collections.abc import Callable
from typing import TypeVar

import structlog

from muster.daemon.experiments.index import Cached, ExperimentIndex
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Workload
from muster.tracking.entry import Entry
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.metadata import ServiceRecord

log = structlog.get_logger()

Seen = ExperimentRecord | Pod | ServiceRecord | Workload
T = TypeVar("T", ExperimentRecord | None, Pod | None, ServiceRecord | None, Workload | None)


class ErrorBoundary:
    """The boundary that lets changes of the ``index`` fail for one experiment at a time. ``count`` counts by place."""

    def __init__(self, index: ExperimentIndex, count: Callable[[str], None]) -> None:
        self._index = index
        self._count = count
        self.damaged: dict[str, ExperimentRecord | None] = {}
        """By uid; the value is an Experiment that could not be read, with the spec and status that no cache keeps."""

    def around(self, change: Callable[[T, T], None]) -> Callable[[T, T], None]:
        """Return ``change``, which takes in the old and the new state of one object, with its exceptions caught."""

        def changed(old: T, new: T) -> None:
            try:
                change(old, new)
            except Exception as error:  # noqa: BLE001 - whatever one object causes must not reach the others
                self._damage("watch", error, old, new)
                if isinstance(either := new or old, ExperimentRecord):
                    self.damaged[either.uid] = new
            else:
                if self.damaged and isinstance(either := new or old, ExperimentRecord) and either.uid in self.damaged:
                    del self.damaged[either.uid]  # its present state can be read
                    self._mark(either.uid, again=new is None)

        return changed

    def clock_stepped(self, entry: Entry, seconds: float) -> None:
        """Move the times of an entry by a step of the clock; an exception marks the experiment as damaged."""
        try:
            entry.clock_stepped(seconds)
        except Exception as error:  # noqa: BLE001
            self._damage("clock", error, entry.seen)

    def repair(self, uid: str, cached: Cached) -> None:
        """Rebuild a damaged experiment from the caches.

        If that raises, the exception passes and the experiment stays damaged.
        """
        self._index.rebuild(uid, self.damaged[uid], cached)
        del self.damaged[uid]
        log.info("experiment rebuilt from the caches", uid=uid)

    def _damage(self, place: str, error: Exception, *objects: Seen | None) -> None:
        self._count(place)
        for uid, obj in {_experiment_of(each): each for each in objects if each is not None}.items():
            if uid:
                log.error(
                    "change of an object failed, rebuilding its experiment",
                    place=place,
                    namespace=obj.namespace,
                    object=obj.name,
                    uid=uid,
                    exc_info=error,
                )
                self._mark(uid)

    def _mark(self, uid: str, *, again: bool = True) -> None:
        """Mark the experiment as damaged, so that its next step rebuilds it; ``again`` requeues a newly marked one."""
        if uid not in self.damaged:
            if again:
                self._index.wanted(uid)
            self.damaged[uid] = None


def _experiment_of(obj: Seen) -> str:
    return obj.uid if isinstance(obj, ExperimentRecord) else obj.owner
