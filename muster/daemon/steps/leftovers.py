"""Leftovers: what Experiments that are gone leave behind. Their pods are deleted, and their Workloads let go.

The garbage collector deletes the pods as well, but later, and may miss a pod that was created after it looked.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from muster.api.errors import ApiError
from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.workqueue import WorkQueue
from muster.reconcilers.native.engine import NativeEngine
from muster.state.plan import Plan
from muster.state.view.workload import Workload

log = structlog.get_logger()

COLLECT_FOR = 300.0
"""Seconds for which the pods of an Experiment that is gone are to be deleted. The garbage collector does so, too."""


class Leftovers:
    """By uid: the plans of Experiments that are gone, and until when their pods are to be deleted."""

    def __init__(
        self, index: ExperimentIndex, queue: WorkQueue, engine: NativeEngine, monotonic: Callable[[], float]
    ) -> None:
        self._index = index
        self._queue = queue
        self._engine = engine
        self._monotonic = monotonic
        self._gone: dict[str, tuple[Plan, float]] = {}

    def add(self, plan: Plan) -> None:
        """The Experiment of that plan is gone: its pods are to be deleted."""
        self._gone[plan.uid] = plan, self._monotonic() + COLLECT_FOR
        self._queue.add(plan.uid)

    def back(self, uid: str) -> None:
        """The Experiment is there again: the watch was opened on a server that is behind."""
        self._gone.pop(uid, None)

    def clear(self) -> None:
        """Leave all pods to the garbage collector."""
        for uid in self._gone:
            self._queue.forget(uid)
        self._gone.clear()

    def collect(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """The deletion of the pods of that Experiment; None where there is nothing to do."""
        return self._collect(*self._gone[uid]) if uid in self._gone else None

    def release(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """Let the Workloads go that outlived their Experiment, once no pod of it runs; None without any."""
        found = self._index.orphans(uid)
        return self._let_go(found) if found else None

    async def _collect(self, plan: Plan, until: float) -> None:
        try:
            await self._engine.collect(plan)
        except ApiError as error:
            if self._monotonic() < until and (error.status in (0, 429) or error.status >= 500):
                raise
            which = {"namespace": plan.namespace, "experiment": plan.title}
            log.warning("pods of a deleted experiment left to the garbage collector", **which, error=str(error))
        self._gone.pop(plan.uid, None)
        if self._index.orphans(plan.uid):
            self._queue.add(plan.uid)

    async def _let_go(self, workloads: list[Workload]) -> None:
        for workload in workloads:
            await self._engine.release(workload)
