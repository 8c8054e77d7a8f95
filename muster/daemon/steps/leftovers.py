"""The leftovers of Experiments that are gone: their pods are deleted, and their Workloads released.

The garbage collector deletes the pods as well, but later, and may miss a pod that was created after it looked.

Pods that vanished from the watch without a last state may run: while the Workload of their Experiment waits for their
end, they are read by name.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from muster.api.errors import ApiError
from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.workqueue import WorkQueue
from muster.reconcilers.native.engine import NativeEngine
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Workload

log = structlog.get_logger()

COLLECT_FOR = 300.0
"""Seconds for which the pods of an Experiment that is gone are to be deleted. The garbage collector does so, too."""
ASKED_AFTER = 5.0
"""Seconds after which vanished pods that may run are read again."""


class Leftovers:
    """Gone Experiments by uid: the plan, the vanished pods, and the time until which all pods are to be deleted."""

    def __init__(
        self, index: ExperimentIndex, queue: WorkQueue, engine: NativeEngine, monotonic: Callable[[], float]
    ) -> None:
        self._index = index
        self._queue = queue
        self._engine = engine
        self._monotonic = monotonic
        self._gone: dict[str, tuple[Plan, tuple[Pod, ...], float]] = {}

    def add(self, plan: Plan, vanished: tuple[Pod, ...] = ()) -> None:
        """Queue the deletion of a gone Experiment's pods, and of those that no watch shows any longer."""
        self._gone[plan.uid] = plan, vanished, self._monotonic() + COLLECT_FOR
        self._queue.add(plan.uid)

    def back(self, uid: str) -> None:
        """Cancel the deletion, because the Experiment exists again: the watch was opened on a server that lags."""
        self._gone.pop(uid, None)

    def clear(self) -> None:
        """Leave all pods to the garbage collector."""
        for uid in self._gone:
            self._queue.forget(uid)
        self._gone.clear()

    def collect(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """Return the deletion of that Experiment's pods; None if there is nothing to do."""
        return self._collect(*self._gone[uid]) if uid in self._gone else None

    def release(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """Return the release of the Workloads of a gone Experiment, once none of its pods runs; None without any."""
        if vanished := self._index.vanished(uid):
            return self._await_end(uid, vanished)
        found = self._index.orphans(uid)
        return self._let_go(found) if found else None

    async def _collect(self, plan: Plan, vanished: tuple[Pod, ...], until: float) -> None:
        try:
            await self._engine.collect(plan, vanished)
        except ApiError as error:
            passing = error.status in (0, 410, 429) or error.status >= 500
            if self._monotonic() < until and (passing or vanished):  # the garbage collector misses ownerless ones
                raise
            which = {"namespace": plan.namespace, "experiment": plan.title, "uid": plan.uid}
            log.warning("pods of a deleted experiment left to the garbage collector", **which, error=str(error))
        self._gone.pop(plan.uid, None)
        if self._index.vanished(plan.uid) or self._index.orphans(plan.uid):
            self._queue.add(plan.uid)

    async def _await_end(self, uid: str, vanished: list[Pod]) -> None:
        ended = await self._engine.ended(vanished)
        self._index.ended(uid, ended)
        self._queue.add_in(uid, ASKED_AFTER if len(ended) < len(vanished) else 0.0)

    async def _let_go(self, workloads: list[Workload]) -> None:
        for workload in workloads:
            await self._engine.release(workload)
