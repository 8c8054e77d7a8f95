"""Bugs in writes: names, preconditions, the order of writes, and live reads before them."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import structs

from muster.daemon.steps import status_writer as status_writer
from muster.daemon.steps.controller import Controller
from muster.daemon.steps.status_writer import StatusWriter
from muster.kube.transport import Answer, Transport
from muster.reconcilers.native import altered, confirm, delete, engine
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.render import pod as pods
from muster.reconcilers.render.environment import Place, Restarts
from muster.reconcilers.requests.batch import Calls
from muster.reconcilers.result import Outcome
from muster.reconcilers.status import write_status
from muster.state.decide.machine import Decision
from muster.state.vocabulary.actions import DeletePods
from muster.state.vocabulary.group import Group, Member
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Record, StoryLine
from muster.tracking.entry import Entry
from tests.planted.bug import Hunt, Swaps, bug, swap


@bug(Hunt("late-write", "member-fails"), Hunt("late-write", "happy"), shown_by="may still run")
def random_names() -> Swaps:
    """Each create of a pod has a new name, as with generateName: a create that is sent twice makes two pods.

    Only pods that run beside the next epoch count: names that differ from those of the clean run prove nothing here.
    """
    place, calls = pods._place, dict[str, int]()

    def anywhere(plan: Plan, group: Group, member: Member, epoch: int, attempt: int, restarts: Restarts) -> Place:
        known = place(plan, group, member, epoch, attempt, restarts)
        name = str(known.name)
        count = calls[name] = calls.get(name, -1) + 1
        return replace(known, name=f"{name}{count}") if count else known

    return [swap(pods, "_place", anywhere)]


@bug(Hunt("stale", "member-fails", most=250), Hunt("late-write", "member-fails"))
def no_live_check() -> Swaps:
    """An epoch is launched on what the caches show."""

    async def yes(*_: object) -> Outcome:
        return Outcome(confirmed=True)

    return [swap(engine, "confirm_launch", yes)]


@bug(Hunt("drop", "happy"), Hunt("drop", "member-fails"))
def loss_taken_for_granted() -> Swaps:
    """A pod that is missing in the cache is taken for gone."""

    async def yes(*_: object) -> Outcome:
        return Outcome(lost=True)

    return [swap(engine, "confirm_loss", yes)]


@bug(Hunt("clean", "label-removed"), Hunt("clean", "altered-and-apart", operator="jobset"), shown_by="run")
def what_is_not_listed_is_gone() -> Swaps:
    """A pod that vanished from the list is not asked for by name: it may have lost a label and run."""

    async def gone(_calls: Calls, _plan: Plan, asked: Collection[Pod]) -> altered.Whereabouts:
        return altered.Whereabouts(gone=list(asked))

    return [swap(confirm, "ask_for", gone)]


class _Blind:
    """A transport that removes the resourceVersion from status writes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def request(self, method: str, path: str, *, body: bytes) -> Answer:
        document = msgspec.json.decode(body)
        del document["metadata"]["resourceVersion"]
        return await self._transport.request(method, path, body=msgspec.json.encode(document))


@bug(Hunt("late-write", "member-fails"), Hunt("stale", "member-fails"), Hunt("crash", "member-fails"))
def blind_write() -> Swaps:
    """A status is written without the resourceVersion on which it was decided."""

    async def blindly(transport: Any, ref: ExperimentRef, status: Mapping[str, object], version: int) -> int:
        blind: Any = _Blind(transport)
        return await write_status(blind, ref, status, version)

    return [swap(status_writer, "write_status", blindly)]


@bug(Hunt("clean", "member-fails"), Hunt("clean", "survivors-hang"))
def deleted_before_persisted() -> Swaps:
    """Old pods are deleted first, and the end of their epoch is persisted afterwards."""
    persist = Controller._persist

    async def afterwards(self: Controller, entry: Entry, decision: Decision) -> bool:
        assert entry.plan is not None
        for action in decision.actions:
            if isinstance(action, DeletePods):
                outcome = await self._engine.carry_out(action, entry.plan, decision.record)
                self._outcomes.fold(entry, outcome, decision.record.epoch)
        return await persist(self, entry, decision)

    return [swap(Controller, "_persist", afterwards)]


@bug(Hunt("error", "suspended", size=1, most=200), shown_by="is not asked to go")
def conflicting_delete_dropped() -> Swaps:
    """A 409 on the deletion of a pod is taken for the pod's end."""

    async def gone(calls: Calls, pod: Pod) -> bool:
        return True

    return [swap(delete, "_gone", gone)]


@bug(Hunt("clean", "happy"), Hunt("clean", "member-fails"))
def status_written_twice() -> Swaps:
    """A step writes the status twice, the second time with a new time only."""
    write = StatusWriter.write

    async def twice(
        self: StatusWriter, entry: Entry, record: Record, story: tuple[StoryLine, ...], moved: float = 0.0
    ) -> None:
        await write(self, entry, record, story)
        await write(self, entry, structs.replace(record, updated_at=record.updated_at + 1.0), ())

    return [swap(StatusWriter, "write", twice)]


@bug(Hunt("error", "happy"), Hunt("crash", "happy"), Hunt("error", "member-fails"))
def told_before_written() -> Swaps:
    """An Event is written before the status that contains its line."""
    persist = Controller._persist

    async def beforehand(self: Controller, entry: Entry, decision: Decision) -> bool:
        self._writer._recorder.record(status_writer.ref_of(entry), decision.story)
        return await persist(self, entry, decision)

    return [swap(Controller, "_persist", beforehand)]


@bug(Hunt("clean", "name-taken"), Hunt("crash", "name-taken"))
def anybody_is_us() -> Swaps:
    """An object of our name is taken for ours, whatever its owner."""

    async def ours(calls: Calls, plan: Plan, kind: str, name: str, labels: Mapping[str, str]) -> int:
        return 0

    return [swap(engine, "recognise", ours)]
