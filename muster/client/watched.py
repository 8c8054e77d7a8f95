"""Runs of other controllers, as their object and their pods show them at one moment.

musterd keeps the record of a watched run in memory, and writes nothing to the object. So it is made here again, by the
part of musterd that watches runs (``muster.tracking``), and without the coordinator, which only musterd and
`muster diagnose` ask: a member has arrived when its pod is ready. Events have what musterd reported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from msgspec import structs

from muster.api.status import ExperimentStatus
from muster.client.member import Member, member_of
from muster.client.snapshot import Snapshot, WatchedSnapshot, snapshot_of
from muster.kinds.declaration import WatchedKind
from muster.kinds.registry import RUN_KINDS, WATCHED_KINDS
from muster.kube.unstructured import Json, items, mapping, moment, text
from muster.state.policies.watched import following
from muster.state.policies.watched.obstacles import PODS_MISSING
from muster.state.view.own import OwnVerdict, Remark
from muster.state.view.view import View
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Condition, ConditionType, Record
from muster.state.vocabulary.workload import Workload
from muster.tracking.entry import settle
from muster.tracking.labelled import Key, LabelledSets
from muster.tracking.watched_index import entry_of, unasked
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.watched import WatchedPodDocument, pod_reader_of, watched_object

UNKNOWN: Final = "Unknown"
"""The phase of a run whose pods may not be read."""
LASTS: Final = "musterd calls it Stuck where that lasts"


@dataclass(frozen=True, slots=True)
class ReadPod:
    """A pod as the API server has it, and as its labels place it."""

    raw: Json
    record: Pod


def kind_of(obj: Json, kind: str) -> WatchedKind | None:
    """Return the kind, if another controller than Muster runs the object."""
    found = next((each for each in WATCHED_KINDS.values() if each.subject.word == kind), None)
    run = RUN_KINDS.get(kind)
    return None if found is None or (run is not None and run.ours(obj)) else found


def selectors(kind: WatchedKind, obj: Json | None) -> list[str]:
    """The label selectors of its pods, one for each source; without an object those of all of the kind."""
    if obj is None:
        return [source.label for source in kind.pods]
    meta = mapping(obj.get("metadata"))
    names = {text(meta, "name"), text(meta, "uid"), *(each.owner.partition("/")[2] for each in kind.claims(obj))}
    fitting = sorted(name for name in names if name and len(name) <= 63)
    return [f"{source.label} in ({','.join(fitting)})" for source in kind.pods]


def read(kind: WatchedKind, number: int, found: Iterable[Json]) -> list[ReadPod]:
    """The pods that the source of that number brings, as far as they can be read."""
    reader, pods = pod_reader_of(kind.pods[number], ()), []
    for raw in found:
        try:
            record = reader(msgspec.json.decode(msgspec.json.encode(raw), type=WatchedPodDocument))
        except (msgspec.ValidationError, ValueError):
            continue
        if record.owner:
            pods.append(ReadPod(raw, record))
    return pods


def sets_of(pods: Iterable[ReadPod]) -> list[Json]:
    """Return the objects that sets of labelled pods are taken for, as musterd makes them."""
    sets, held, found = LabelledSets(), dict[Key, dict[str, Pod]](), dict[Key, ExperimentRecord]()
    for pod in sorted((each.record for each in pods), key=lambda each: (each.created, each.uid)):
        key = pod.namespace, pod.owner
        held.setdefault(key, {})[pod.uid] = pod
        if (turn := sets.change(key, None, pod, held[key])) is not None and turn[1] is not None:
            found[key] = turn[1]
    return [watched_object(found[key]) for key in sorted(found)]


def look(
    kind: WatchedKind,
    obj: Json,
    pods: Sequence[ReadPod] | None,
    now: float,
    unreadable: Sequence[str] = (),
    admission: Workload | None = None,
    made: Json | None = None,
    remark: Remark | None = None,
    remark_problem: str = "",
) -> Snapshot:
    """Return what one object and its pods show; ``pods`` is None if they may not be read.

    ``admission`` is the Workload that Kueue has made for the object, and ``made`` what its controller has made of it;
    None where none was read. ``remark`` is the reason that a controller gives for pods that it does not make.
    """
    obj = {**obj, "kind": kind.subject.word}  # lists of built-in kinds leave it out
    entry = entry_of(kind, obj, [each.record for each in pods or ()], made)
    if entry is None or entry.plan is None or entry.watched is None:
        empty, problem = ExperimentStatus.from_object(None), entry.problem if entry else "its JSON cannot be read"
        unknown = structs.replace(
            empty, phase=UNKNOWN, reason="NotUnderstood", message=f"it cannot be watched over: {problem}"
        )
        return replace(snapshot_of(obj), status=unknown, watched=WatchedSnapshot(None, None, View()))
    run, view, roll = entry.watched, entry.view, entry.plan.asked is not None
    entry.plan = plan = unasked(entry.plan)
    view.admission, view.queue_problem = admission, "" if admission is not None else "no Workload was read"
    view.remark, view.remark_problem = remark, remark_problem
    own = [each for each in pods or () if each.record.owner in run.claims and each.record.namespace == plan.namespace]
    record = settle(entry, now).record
    seats = {pod.uid: pod for pod in view.pods()}
    every = tuple(seated(each.raw, seat) for each in own if (seat := seats.get(each.record.uid)) is not None)
    seen = WatchedSnapshot(
        plan=plan,
        record=record,
        view=view,
        members=tuple(sorted((m for m in every if m.epoch == record.epoch), key=lambda member: member.rank)),
        all_members=every,
        pods=tuple(each.raw for each in own),
        unreadable=tuple(unreadable),
        roll=roll,
        wanted=kind.wanted(obj),
        absent=run.parts(plan, record.epoch) if record.blocked and record.blocked.reason == PODS_MISSING else (),
        news_at=max((_news(each.raw, now) for each in own), default=0.0),
    )
    conditions = tuple(_of_one_moment(each, record) for each in record.conditions)
    status: ExperimentStatus = structs.replace(record, roll=None, story=(), conditions=conditions)
    verdict = view.own.verdict if view.own is not None else OwnVerdict.NOTHING
    if pods is None and verdict in (OwnVerdict.NOTHING, OwnVerdict.ASK_PODS):
        message = "; ".join(
            filter(None, (following.held(plan) if plan.lifecycle.deleting else "", "its pods may not be read"))
        )
        status = structs.replace(status, phase=UNKNOWN, reason="PodsForbidden", message=message, ready=0, size=0)
    return replace(snapshot_of(obj), status=status, watched=seen)


def _of_one_moment(condition: Condition, record: Record) -> Condition:
    """The condition without the times that one moment cannot show: whether an obstacle lasts is not known."""
    condition = structs.replace(condition, since=0.0)
    blocked = record.blocked
    if condition.type != ConditionType.STUCK or condition.status or blocked is None or blocked.gone_at is not None:
        return condition
    return structs.replace(condition, status=None, reason=blocked.reason, message=LASTS)


def seated(raw: Json, seat: Pod) -> Member:
    """Return the member of that place; a watched pod has no labels of Muster."""
    return replace(
        member_of(raw), rank=seat.rank, group=seat.group, job=seat.job, index=max(0, seat.index), epoch=seat.epoch
    )


def _news(raw: Json, now: float) -> float:
    meta, status = mapping(raw.get("metadata")), mapping(raw.get("status"))
    times: list[Any] = [meta.get("creationTimestamp")]
    times += [each.get("lastTransitionTime") for each in items(status.get("conditions"))]
    for container in items(status.get("containerStatuses")):
        state = mapping(container.get("state"))
        times.append(mapping(state.get("running")).get("startedAt"))
        times.append(mapping(state.get("terminated")).get("finishedAt"))
    asked, grace = moment(meta.get("deletionTimestamp")), meta.get("deletionGracePeriodSeconds")
    if asked is not None:
        return min(now, asked - grace if isinstance(grace, int) else asked)
    return max((at for each in times if (at := moment(each)) is not None and at <= now), default=0.0)
