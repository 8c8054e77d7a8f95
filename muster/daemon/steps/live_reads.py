"""Live reads: the pods of an experiment past the watch cache, before a decision that costs something."""

from collections.abc import Callable

from muster.api.errors import ApiError
from muster.daemon.informers import Informers
from muster.daemon.steps.outcomes import Outcomes
from muster.kube.fair_share import FairShare
from muster.kube.workqueue import WorkQueue
from muster.reconcilers.requests.refusals import refusal_of
from muster.state.policies.refusal import READ_PODS
from muster.state.view.engine_facts import LiveRead
from muster.state.vocabulary.plan import Plan
from muster.tracking.entry import Entry

LIVE_READ_PAUSE = 1.0
"""Seconds between live reads that leave the decision open, because the wall clock or the API server went back."""


class LiveReads:
    """The live reads of all experiments."""

    def __init__(
        self,
        share: FairShare,
        informers: Informers,
        queue: WorkQueue,
        outcomes: Outcomes,
        clock: Callable[[], float],
    ) -> None:
        self._share = share
        self._informers = informers
        self._queue = queue
        self._outcomes = outcomes
        self._clock = clock

    async def read(self, entry: Entry, plan: Plan) -> None:
        """Read the pods past the cache and requeue: at once, or after a pause if the last read was not enough."""
        at, last, refused = self._clock(), entry.view.engine.live_read, entry.view.engine.refused
        if refused is not None and refused.action == READ_PODS and at < refused.retry_at:
            self._queue.add_in(plan.uid, refused.retry_at - at)
            return
        try:
            async with self._share.of(plan.namespace, plan.uid):
                at = self._clock()
                version = await self._informers.read_live(plan, entry.view)
        except ApiError as error:
            if refusal := refusal_of(error, "list", "Pod", "", plan):
                self._outcomes.refused(entry, refusal, READ_PODS, at)
                return
            raise
        self._outcomes.accepted(entry)
        if version is None:
            self._queue.add_in(plan.uid, LIVE_READ_PAUSE)
            return
        entry.view.engine.live_read = LiveRead(at, version)
        again = last is not None and abs(at - last.at) < 2 * LIVE_READ_PAUSE  # twice: the last read may have paused too
        self._queue.add_in(plan.uid, LIVE_READ_PAUSE if again else 0.0)
