"""Runs requests of one kind concurrently; stops sending after the first error or refusal, or where it is stopped.

A gang is useful only as a whole. Requests under way are awaited; those not sent are asked for again by the next
decision, and repeating one of them is harmless. How many run at once is shared between namespaces and experiments
(``muster.kube.fair_share``).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from muster.api.errors import ApiError
from muster.kube.connection import TIMEOUT_REASON
from muster.kube.fair_share import FairShare, Slots
from muster.kube.paths import core
from muster.kube.transport import Answer, Transport
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan

T = TypeVar("T")

CREATE_TIMEOUT = 15.0
"""Seconds for the create of an object: an admission webhook has 10 s by default, then it is ignored or refuses."""
LONG_CREATE_TIMEOUT = 35.0
"""Seconds, where the last create of the namespace had no answer in time. Webhooks may take 30 s, and the API server
ends a create after 34 s: a client that always gave up sooner would never create an object there."""
MOST_SLOW = 1000
"""Namespaces that are remembered for it. One that is forgotten has one more create of ``CREATE_TIMEOUT``."""


class Batch(Generic[T]):
    """The results of a batch so far. ``done`` holds the items whose request succeeded."""

    def __init__(self) -> None:
        self.done: list[T] = []
        self._version = 0
        self._refusal: Refusal | None = None
        self._error: ApiError | None = None
        self._postponed: ApiError | None = None
        self._unwanted = False
        self._slots: Slots | None = None

    def add(self, item: T, result: int | Refusal | None) -> None:
        """Record the resourceVersion of the pod in one answer, or a refusal (a final one replaces the others).

        None: the outcome is unknown, and the item is left to the next decision.
        """
        if result is None:
            return
        if isinstance(result, int):
            self.done.append(item)
            self._version = max(self._version, result)
        elif self._refusal is None or (result.final and not self._refusal.final):
            self._refusal = result

    async def run(
        self, name: str, items: Sequence[T], work: Callable[[T], Awaitable[int | Refusal | None]], slots: Slots
    ) -> None:
        """Process ``items``, each in a slot; all that was begun has ended when this returns or raises.

        A task is started when its slot is there, so a gang of 10,000 members has no more tasks than slots. It keeps the
        slot from item to item, unless another experiment waits for one.
        """
        self._slots = slots
        queue, left = iter(items), len(items)

        async def process(item: T) -> None:
            nonlocal left
            while not self._stopped:
                try:
                    self.add(item, await work(item))
                except ApiError as error:
                    self._error = self._error or error
                if not left or self._stopped:
                    slots.withdraw()
                    return
                if slots.contended:
                    return
                left -= 1
                item = next(queue)

        async with asyncio.TaskGroup() as tasks:
            while left and not self._stopped and await slots.acquire():
                if not left or self._stopped:
                    slots.release()
                    return
                left -= 1
                task = tasks.create_task(process(next(queue)), name=f"{name} ({left} more)")
                task.add_done_callback(lambda _: slots.release())  # also where it is cancelled before it begins

    @property
    def _stopped(self) -> bool:
        return self._unwanted or self._refusal is not None or self._error is not None

    def stop(self) -> None:
        """Begin no request any more: they are not wanted. Those under way are awaited."""
        self._unwanted = True
        if self._slots is not None:
            self._slots.withdraw()

    def postpone(self, error: ApiError) -> None:
        """Repeat one item later because of that error; the others continue."""
        self._postponed = error

    def outcome(self) -> Outcome:
        """Return the outcome of the batch. A refusal takes precedence over an error: it says more and lasts longer."""
        error = self._error or self._postponed
        error = None if self._refusal else error
        return Outcome(version=self._version, refusal=self._refusal, error=error, unwanted=self._unwanted)


class Calls:
    """The engine's requests. ``now`` gives wall seconds since 1970."""

    def __init__(
        self, transport: Transport, *, creates: FairShare, others: FairShare, now: Callable[[], float]
    ) -> None:
        self.now = now
        self.do = transport.request
        """Sends one request; its caller holds a slot."""
        self._creates = creates
        self._others = others
        self._slow: dict[str, None] = {}
        """Namespaces in which the last create had no answer in time, the latest last.

        A deleted namespace is never answered for again, so their number has a limit.
        """

    def slots(self, plan: Plan) -> Slots:
        """Return the share of an experiment. A slot is held for one request, or for some that follow each other."""
        return self._others.of(plan.namespace, plan.uid)

    def create_slots(self, plan: Plan) -> Slots:
        """Return its share of the creates, which have one of their own: admission is slow, if anything is."""
        return self._creates.of(plan.namespace, plan.uid)

    async def create(self, plan: Plan, resource: str, body: bytes, params: Mapping[str, str] | None = None) -> Answer:
        """Create an object, in a slot that the caller holds. See ``CREATE_TIMEOUT``."""
        path = core(plan.namespace, resource)
        timeout = LONG_CREATE_TIMEOUT if plan.namespace in self._slow else CREATE_TIMEOUT
        try:
            answer = await self.do("POST", path, params=params, body=body, timeout=timeout)
        except ApiError as error:
            if error.reason == TIMEOUT_REASON:
                self._remember_slow(plan.namespace)
            elif error.status:
                self._slow.pop(plan.namespace, None)
            raise
        self._slow.pop(plan.namespace, None)
        return answer

    def _remember_slow(self, namespace: str) -> None:
        self._slow.pop(namespace, None)
        self._slow[namespace] = None
        if len(self._slow) > MOST_SLOW:
            del self._slow[next(iter(self._slow))]


def delete_options(uid: str, grace: int | None, version: str = "") -> bytes:
    """Return the body of a DELETE that takes the pod of that uid only; with ``version`` only as it was then.

    Grace None: the pod's own.
    """
    options: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid, "resourceVersion": version} if version else {"uid": uid},
        "propagationPolicy": "Background",
    }
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    return msgspec.json.encode(options)
