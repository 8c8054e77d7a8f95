"""Runs of other controllers: what their object and their pods say, by the rules that musterd watches them by.

musterd keeps the record of a watched run in memory, and writes nothing to the object. So it is computed here once
more, from one moment and without the coordinator's roll, which only musterd calls: a member has arrived when its pod is
ready. What musterd has said of the run is in its Events.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from msgspec import structs

from muster.api.errors import MusterError
from muster.api.status import ExperimentStatus
from muster.api.values.timestamps import whole_time
from muster.client.member import Member, member_of
from muster.kinds.declaration.watched_kind import Claim, Said, WatchedKind
from muster.kinds.places.attempts import Attempts
from muster.kinds.places.membership import WatchedMembership
from muster.kinds.planning.complaints import state_of
from muster.kinds.pods import OBSERVE, counts
from muster.kinds.registry import run_kinds as kinds
from muster.kinds.registry.watched_kinds import WATCHED_KINDS
from muster.kube.unstructured import Json, items, mapping, moment, text
from muster.state.decide.machine import decide
from muster.state.policies.watched import ends
from muster.state.policies.watched.obstacles import PODS_MISSING
from muster.state.view.own.remark import Remark
from muster.state.view.view import View
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Condition, ConditionType, Record
from muster.state.vocabulary.subject import PODS
from muster.state.vocabulary.workload import Workload
from muster.watchers.watched import PodDocument, pod_reader_of

UNKNOWN: Final = "Unknown"
"""The phase of a run whose pods may not be read."""
LASTS: Final = "musterd calls it Stuck where that lasts"
SETTLED_WITHIN: Final = 8
"""Decisions in a row; each moves a run at most one phase on."""


@dataclass(frozen=True, slots=True)
class ReadPod:
    """A pod as the API server has it, and as its labels place it."""

    raw: Json
    record: Pod


@dataclass(frozen=True, slots=True)
class WatchedSnapshot:
    """A watched run. Without ``plan`` its object is not understood; ``members`` are those of the latest epoch."""

    plan: Plan | None
    record: Record | None
    view: View
    members: tuple[Member, ...] = ()
    all_members: tuple[Member, ...] = ()
    """Of every epoch."""
    pods: tuple[Json, ...] = ()
    unreadable: tuple[str, ...] = ()
    roll: bool = False
    """musterd asks a coordinator who has arrived."""
    wanted: bool = True
    """musterd would watch over it, where its kind is one of ``--watch-kinds``."""
    pods_missing: bool = False
    """Its controller has not made all pods, and that is what it waits for."""
    news_at: float = 0.0
    """When something last changed in its pods, in wall seconds, as far as pods say."""


def kind_of(obj: Json, kind: str) -> WatchedKind | None:
    """The kind, if another controller than Muster runs the object."""
    found = next((each for each in WATCHED_KINDS.values() if each.subject.word == kind), None)
    run = kinds.RUN_KINDS.get(kind)
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
            record = reader(msgspec.json.decode(msgspec.json.encode(raw), type=PodDocument))
        except (msgspec.ValidationError, ValueError):
            continue
        if record.owner:
            pods.append(ReadPod(raw, record))
    return pods


def sets_of(pods: Iterable[ReadPod]) -> list[Json]:
    """The objects that sets of labelled pods stand for, as musterd makes them."""
    sets: dict[tuple[str, str], list[Pod]] = {}
    for pod in sorted(pods, key=lambda each: (each.record.created, each.record.uid)):
        sets.setdefault((pod.record.namespace, pod.record.owner), []).append(pod.record)
    return [_set(namespace, owner, found) for (namespace, owner), found in sorted(sets.items())]


def _set(namespace: str, owner: str, pods: Sequence[Pod]) -> Json:
    asked: dict[str, str] = {}
    for pod in pods:
        asked = {**(json.loads(pod.asks) if pod.asks else {}), **asked}
    sizes: dict[str, int] = {}
    for group in {pod.group for pod in pods}:
        own = [pod for pod in pods if pod.group == group]
        sizes[group] = max(sum(map(counts, own)), *(pod.index + 1 for pod in own))
    name = owner.partition("/")[2]
    return {
        "kind": PODS.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{OBSERVE}={name}",
            "creationTimestamp": whole_time(pods[0].created),
            "annotations": asked,
        },
        "spec": {"sizes": sizes},
        "status": None,
    }


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
) -> tuple[ExperimentStatus, WatchedSnapshot]:
    """What can be said of one object and its pods; ``pods`` is None where they may not be read.

    ``admission`` is the Workload that Kueue has made for the object, and ``made`` what its controller has made of it;
    None where none was read. ``remark`` is the reason that a controller gives for pods that it does not make.
    """
    members, wanted = WatchedMembership(), kind.wanted(obj)
    try:
        plan = kind.planned(obj, kind.made.plan_of(made) if kind.made is not None and made is not None else None)
    except MusterError as error:
        empty, problem = ExperimentStatus.from_object(None), f"it cannot be watched over: {error}"
        unknown = structs.replace(empty, phase=UNKNOWN, reason="NotUnderstood", message=problem)
        return unknown, WatchedSnapshot(None, None, members.view)
    roll = plan.asked is not None
    if plan.coordinator is not None:
        plan = replace(plan, coordinator=replace(plan.coordinator, probe=ProbeKind.NONE))
    members.view.admission = admission
    members.view.remark, members.view.remark_problem = remark, remark_problem
    members.view.queue_problem = "" if admission is not None else "no Workload was read"
    members.view.own, claims = Attempts().follow(state_of(kind, obj), kind.claims(obj))
    claimed: Mapping[str, Claim] = {each.owner: each for each in claims}
    own = [each for each in pods or () if each.record.owner in claimed and each.record.namespace == plan.namespace]
    members.follow(plan, claimed, (each.record for each in own))
    record = _settled(plan, members.view, now)
    seats = {pod.uid: pod for pod in members.view.pods()}
    every = tuple(_member(each.raw, seat) for each in own if (seat := seats.get(each.record.uid)) is not None)
    seen = WatchedSnapshot(
        plan=plan,
        record=record,
        view=members.view,
        members=tuple(sorted((m for m in every if m.epoch == record.epoch), key=lambda member: member.rank)),
        all_members=every,
        pods=tuple(each.raw for each in own),
        unreadable=tuple(unreadable),
        roll=roll,
        wanted=wanted,
        pods_missing=record.blocked is not None and record.blocked.reason == PODS_MISSING and not kind.virtual,
        news_at=max((_news(each.raw, now) for each in own), default=0.0),
    )
    conditions = tuple(_of_one_moment(each, record) for each in record.conditions)
    status: ExperimentStatus = structs.replace(record, roll=None, story=(), conditions=conditions)
    said = members.view.own.said if members.view.own is not None else Said.NOTHING
    if pods is None and said in (Said.NOTHING, Said.ASK_PODS):
        message = "; ".join(
            filter(None, (ends.held(plan) if plan.lifecycle.deleting else "", "its pods may not be read"))
        )
        status = structs.replace(status, phase=UNKNOWN, reason="PodsForbidden", message=message, ready=0, size=0)
    return status, seen


def _of_one_moment(condition: Condition, record: Record) -> Condition:
    """The condition without the times that one moment cannot show: whether an obstacle lasts is not known."""
    condition = structs.replace(condition, since=0.0)
    blocked = record.blocked
    if condition.type != ConditionType.STUCK or condition.status or blocked is None or blocked.gone_at is not None:
        return condition
    return structs.replace(condition, status=None, reason=blocked.reason, message=LASTS)


def _settled(plan: Plan, view: View, now: float) -> Record:
    record = decide(plan, None, view, now).record
    for _ in range(SETTLED_WITHIN):
        before, record = record, decide(plan, record, view, now).record
        if before == record:
            break
    return record


def _member(raw: Json, seat: Pod) -> Member:
    """The member as its place says; a watched pod bears no labels of Muster."""
    return replace(
        member_of(raw), rank=seat.rank, group=seat.group, job=seat.job, index=max(0, seat.index), epoch=seat.epoch
    )


def _news(raw: Json, now: float) -> float:
    """When something last changed in a pod."""
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
    found = [at for each in times if (at := moment(each)) is not None and at <= now]
    return max(found, default=0.0)
