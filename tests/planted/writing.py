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
from muster.reconcilers.native import confirm, delete, engine, live_pods
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.render import pod as pods
from muster.reconcilers.render.environment import Place, Restarts
from muster.reconcilers.requests import batch
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
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap


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
@instead_of(engine, "confirm_launch")
async def no_live_check(*_: object) -> Outcome:
    """An epoch is launched on what the caches show."""
    return Outcome(confirmed=True)


@bug(Hunt("drop", "happy"), Hunt("drop", "member-fails"))
@instead_of(engine, "confirm_loss")
async def loss_taken_for_granted(*_: object) -> Outcome:
    """A pod that is missing in the cache is taken for gone."""
    return Outcome(lost=True)


@bug(Hunt("clean", "label-removed"), Hunt("clean", "altered-and-apart", operator="jobset"), shown_by="run")
@instead_of(confirm, "ask_for")
async def what_is_not_listed_is_gone(
    _: Any, _calls: Calls, _plan: Plan, asked: Collection[Pod]
) -> live_pods.Whereabouts:
    """A pod that vanished from the list is not asked for by name: it may have lost a label and run."""
    return live_pods.Whereabouts(gone=list(asked))


class _Blind:
    """A transport that removes the resourceVersion from status writes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def request(self, method: str, path: str, *, body: bytes) -> Answer:
        document = msgspec.json.decode(body)
        del document["metadata"]["resourceVersion"]
        return await self._transport.request(method, path, body=msgspec.json.encode(document))


@bug(Hunt("late-write", "member-fails"), Hunt("stale", "member-fails"), Hunt("crash", "member-fails"))
@instead_of(status_writer, "write_status")
async def blind_write(_: Any, transport: Any, ref: ExperimentRef, status: Mapping[str, object], version: int) -> int:
    """A status is written without the resourceVersion on which it was decided."""
    blind: Any = _Blind(transport)
    return await write_status(blind, ref, status, version)


@bug(Hunt("clean", "member-fails"), Hunt("clean", "survivors-hang"))
@instead_of(Controller, "_persist")
async def deleted_before_persisted(persist: Any, self: Controller, entry: Entry, decision: Decision) -> Any:
    """Old pods are deleted first, and the end of their epoch is persisted afterwards."""
    assert entry.plan is not None
    for action in decision.actions:
        if isinstance(action, DeletePods):
            outcome = await self.engine.carry_out(action, entry.plan, decision.record)
            self._outcomes.fold(entry, outcome, decision.record.epoch)
    return await persist(self, entry, decision)


@bug(Hunt("error", "suspended", size=1, most=200), shown_by="is not asked to go")
@instead_of(delete, "_gone")
async def conflicting_delete_dropped(_: Any, calls: Calls, pod: Pod) -> bool:
    """A 409 on the deletion of a pod is taken for the pod's end."""
    return True


@bug(Hunt("clean", "happy"), Hunt("clean", "member-fails"))
@instead_of(StatusWriter, "write")
async def status_written_twice(
    write: Any, self: StatusWriter, entry: Entry, record: Record, story: tuple[StoryLine, ...], moved: float = 0.0
) -> None:
    """A step writes the status twice, the second time with a new time only."""
    await write(self, entry, record, story)
    await write(self, entry, structs.replace(record, updated_at=record.updated_at + 1.0), ())


@bug(Hunt("error", "happy"), Hunt("crash", "happy"), Hunt("error", "member-fails"))
@instead_of(Controller, "_persist")
async def told_before_written(persist: Any, self: Controller, entry: Entry, decision: Decision) -> Any:
    """An Event is written before the status that contains its line."""
    self._writer.recorder.record(status_writer.ref_of(entry), decision.story)
    return await persist(self, entry, decision)


@bug(Hunt("clean", "name-taken"), Hunt("crash", "name-taken"))
@instead_of(batch, "recognise")
async def anybody_is_us(_: Any, calls: Calls, plan: Plan, kind: str, name: str, labels: Mapping[str, str]) -> int:
    """An object of our name is taken for ours, whatever its owner."""
    return 0
