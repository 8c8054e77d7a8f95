"""Requests of the native engine: many of one kind at once, and the create of an object that may exist already."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from muster.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from muster.api.names import GROUP
from muster.kube.connection import TIMEOUT_REASON
from muster.kube.fair_share import FairShare, Slots
from muster.kube.resources import Metadata, Object, ask, core, read
from muster.kube.transport import Transport
from muster.reconcilers.requests.refusals import refusal_or_raise
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.refusals import ALTERED, of_kind

T = TypeVar("T")

CREATE_TIMEOUT = 15.0
"""Seconds for the create of an object: an admission webhook has 10 s by default, then it is ignored or refuses."""
LONG_CREATE_TIMEOUT = 35.0
"""Seconds, if the last create of the namespace had no answer in time. Webhooks may take 30 s, and the API server ends a
create after 34 s: a client that always gave up sooner would never create an object there."""
MOST_SLOW = 1000
"""Most namespaces that are remembered as slow. One that is forgotten has one more create of ``CREATE_TIMEOUT``."""


class Batch(Generic[T]):
    """The results of a batch so far. ``done`` holds the items whose request succeeded.

    Requests of one kind run concurrently; no more are sent after the first error or refusal, or when the batch is
    stopped: a gang is useful only as a whole. Requests in progress are awaited; the next decision repeats those that
    were not sent, and repeating one is harmless. Namespaces and experiments share the number of concurrent requests
    (``muster.kube.fair_share``).
    """

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
        """Process ``items``, each in a slot; everything that was begun has ended when this returns or raises.

        A task is started when its slot is free, so a gang of 10,000 members has no more tasks than slots. It keeps the
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
                task.add_done_callback(lambda _: slots.release())  # also if it is cancelled before it begins

    @property
    def _stopped(self) -> bool:
        return self._unwanted or self._refusal is not None or self._error is not None

    def stop(self) -> None:
        """Begin no further request, because they are not wanted. Those in progress are awaited."""
        self._unwanted = True
        if self._slots is not None:
            self._slots.withdraw()

    def postpone(self, error: ApiError) -> None:
        """Note the error of an item that has to be repeated later, while the others continue."""
        self._postponed = error

    def outcome(self) -> Outcome:
        """Return the outcome of the batch. A refusal takes precedence over an error: it explains more and lasts."""
        error = self._error or self._postponed
        error = None if self._refusal else error
        return Outcome(version=self._version, refusal=self._refusal, error=error, unwanted=self._unwanted)


class Calls:
    """The requests of the engine. ``now`` gives wall seconds since 1970."""

    def __init__(
        self, transport: Transport, *, creates: FairShare, others: FairShare, now: Callable[[], float]
    ) -> None:
        self.now = now
        self.do = transport.request
        """The function that sends one request; its caller holds a slot."""
        self._creates = creates
        self._others = others
        self._slow: dict[str, None] = {}
        """Namespaces whose last create had no answer in time, the latest last.

        A deleted namespace would stay forever, so their number has a limit.
        """

    def slots(self, plan: Plan) -> Slots:
        """Return the share of an experiment. A slot is held for one request, or for some that follow each other."""
        return self._others.of(plan.namespace, plan.uid)

    def create_slots(self, plan: Plan) -> Slots:
        """Return the experiment's share of the creates, which have their own because admission is the slow part."""
        return self._creates.of(plan.namespace, plan.uid)

    async def create(self, plan: Plan, resource: str, body: bytes, params: Mapping[str, str] | None = None) -> Metadata:
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
        return read(answer, Object, f"POST {path}").metadata

    def _remember_slow(self, namespace: str) -> None:
        self._slow.pop(namespace, None)
        self._slow[namespace] = None
        if len(self._slow) > MOST_SLOW:
            del self._slow[next(iter(self._slow))]


def delete_options(uid: str, grace: int | None, version: str = "") -> bytes:
    """Return the body of a DELETE of the pod with that uid; with ``version`` only if it is unchanged.

    Grace None means the pod's own.
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


SHOWN = 63
"""Most characters of a label's value that are shown; Kubernetes allows no more."""


async def create_or_find(
    calls: Calls,
    plan: Plan,
    kind: str,
    name: str,
    body: bytes,
    labels: Mapping[str, str],
    params: Mapping[str, str] | None = None,
) -> int | Refusal:
    """Create an object, or find it, and return its resourceVersion, or the refusal. It must have these labels.

    Names are deterministic, so an object that exists, and that the plan's Experiment controls, was created by an
    earlier request whose answer was lost. Raises ``Conflict`` when it was deleted between the create and the GET.
    """
    try:
        made = await calls.create(plan, f"{kind.lower()}s", body, params)
    except AlreadyExists:
        return await recognise(calls, plan, kind, name, labels)
    except ApiError as error:
        return refusal_or_raise(error, plan, "create", kind, name)
    return as_sent(kind, made, plan, labels)


async def recognise(calls: Calls, plan: Plan, kind: str, name: str, labels: Mapping[str, str]) -> int | Refusal:
    """Return the resourceVersion of the object of that name if it is ours, else the refusal."""
    path = core(plan.namespace, f"{kind.lower()}s", name)
    try:
        found = await ask(calls.do, "GET", path, Object)
    except NotFound as error:
        raise Conflict(
            f"{kind} {plan.namespace}/{name} existed when it was created and was gone when it was read",
            status=error.status,
            reason="Vanished",
            request=f"GET {path}",
        ) from error
    return owned(kind, found.metadata, plan, labels)


def owned(kind: str, found: Metadata, plan: Plan, labels: Mapping[str, str]) -> int | Refusal:
    """Return the object's resourceVersion if the plan's Experiment controls it and it has these labels."""
    owner = found.controller
    ours = owner is not None and owner.uid == plan.uid
    return as_sent(kind, found, plan, labels) if ours else name_taken(kind, found, plan)


def as_sent(kind: str, found: Metadata, plan: Plan, labels: Mapping[str, str]) -> int | Refusal:
    """Return the object's resourceVersion if it has the labels that select and identify it, else the refusal.

    Without them no watch would show it, and the experiment would wait for it without an explanation.
    """
    held = found.labels or {}
    changed = next((name for name, value in labels.items() if held.get(name) != value), None)
    if changed is None:
        return found.version
    now = repr(held[changed][:SHOWN]) if changed in held else "missing"
    return Refusal(
        of_kind(kind, ALTERED),
        f"{kind} {plan.namespace}/{found.name} was created with {changed}={labels[changed]}; the label is now {now}. "
        f"An admission webhook or policy, or a person, changed it: leave labels under {GROUP}/ as they are, and delete "
        f"that {kind}. Muster tries again.",
        final=False,
    )


def name_taken(kind: str, found: Metadata, plan: Plan) -> Refusal:
    """Return the refusal for an object that exists and is not ours.

    Not final if the object is being deleted, or if it belongs to an earlier Experiment of the same name: the garbage
    collector removes it then.
    """
    owner = found.controller
    if kind == "Pod" and owner is None:
        return Refusal(
            of_kind(kind, ALTERED),
            f"Pod {plan.namespace}/{found.name} exists and has no ownerReference of a controller; its name is that of "
            f"a member of {plan.subject.kind} {plan.name} (uid {plan.uid}). Set the ownerReference again, or delete "
            "the pod. Muster tries again.",
            final=False,
        )
    wanted = plan.subject.api_version, plan.subject.kind, plan.name
    leftover = owner is not None and (owner.api_version, owner.kind, owner.name) == wanted
    whose = f"is controlled by {owner.kind} {owner.name} (uid {owner.uid})" if owner else "has no controller"
    ours = f"{plan.subject.kind} {plan.name} (uid {plan.uid})"
    if leftover or found.deletion_timestamp:
        advice = "It is left over and will be removed; the experiment waits for that."
    else:
        advice = f"Delete that {kind}, or give the experiment another name, and start the experiment again."
    return Refusal(
        "NameTaken",
        f"{kind} {plan.namespace}/{found.name} exists and {whose}; it does not belong to {ours}. {advice}",
        final=not (leftover or found.deletion_timestamp),
    )
