"""Reads runs of other controllers: their object, their pods by label, and musterd's Events about them."""

import time
from collections import defaultdict
from collections.abc import Iterable, MutableMapping, MutableSequence, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import msgspec
from msgspec import structs

from muster.api.conditions import Condition, ConditionType
from muster.api.errors import ApiError, Forbidden
from muster.api.names import JOB_UID_LABEL, MANAGER
from muster.api.status import ExperimentStatus
from muster.api.values.secrets import secrets_within
from muster.client.errors import NoSuchExperiment, NotInstalled, RunByMuster
from muster.client.snapshot import (
    EventSummary,
    Snapshot,
    WatchedSnapshot,
    event_summary,
    events_of,
    known_kind,
    snapshot_of,
    uids_of,
)
from muster.client.subjects import collection_path, object_path
from muster.client.watched import ReadPod, kind_of, look, read, selectors, sets_of
from muster.kinds.declaration import WatchedKind
from muster.kinds.planning.parts import local_queue_of
from muster.kinds.pods import LABELLED_PODS, OBSERVE
from muster.kinds.registry import WATCHED_KINDS
from muster.kube.instrumented import lacks
from muster.kube.resources import ResourceClient, core, custom
from muster.kube.unstructured import Json, items, mapping, moment, text
from muster.state.facts.incidents.grouping import REASON as INCIDENT
from muster.state.view.own import Remark
from muster.state.view.roll import STALE_MEMBERS
from muster.state.vocabulary.subject import PODS, Subject
from muster.state.vocabulary.workload import Workload
from muster.watchers import workloads
from muster.watchers.remarks import read_remark

STUCK: Final = "Stuck"
LASTING: Final = frozenset({STUCK, STALE_MEMBERS})
"""Reasons of Events that describe a run until another Event takes them back."""
NOT_LISTED: Final = "runs of other controllers that are Stuck are not shown"
UNREADABLE: Final = "why may be in its Events, which you may not list"


async def get(resources: ResourceClient, subject: Subject, namespace: str, name: str) -> Snapshot:
    """Return the object called ``name``, such as ``job/train``, with any controller. Raises ``NoSuchExperiment``."""
    own = name.rpartition("/")[2]
    if subject == PODS:
        core(namespace, "pods", own)  # refuses what cannot be a name
        pods = read(
            LABELLED_PODS, 0, await resources.list(core(namespace, "pods"), {"labelSelector": f"{OBSERVE}={own}"})
        )
        found = sets_of(pods)
        if not found:
            raise NoSuchExperiment(f"no pod of namespace {namespace} has the label {OBSERVE}={own}")
        return await _with_events(resources, look(LABELLED_PODS, found[0], pods, time.time()))
    with known_kind(name, namespace):
        obj = await resources.get(object_path(namespace, name))
    watched = kind_of(obj, subject.word)
    if watched is None:
        return snapshot_of(obj)
    try:
        pods = await _read(resources, namespace, watched, obj)
    except Forbidden as error:
        return look(watched, obj, None, time.time(), (error.message,))
    admission = await _admission(resources, namespace, obj, {})
    made = (await _made(resources, namespace, watched, {})).get(_uid(obj))
    seen = look(watched, obj, pods, time.time(), (), admission, made)
    if seen.watched is not None and seen.watched.absent:
        heard = await _remark(resources, obj, seen.watched)
        seen = look(watched, obj, pods, time.time(), (), admission, made, *heard)
    return await _with_events(resources, seen)


class ObjectSource:
    """The object called ``name`` (``job/train``) of a kind that another controller runs, read again each time."""

    def __init__(self, resources: ResourceClient, kind: WatchedKind, namespace: str, name: str) -> None:
        self._resources, self._kind, self._namespace, self._name = resources, kind, namespace, name

    async def read(self, unknown: MutableMapping[str, str]) -> tuple[Json, Json | None, Workload | None]:
        """Return the object, what its controller has made of it, and its Workload of Kueue.

        A right that the last two lack is written into ``unknown``.

        Raises ``ApiError``, and ``RunByMuster`` for an object that no other controller runs.
        """
        with known_kind(self._name, self._namespace):
            obj = await self._resources.get(object_path(self._namespace, self._name))
        if kind_of(obj, self._kind.subject.word) is None:
            raise RunByMuster(f"Muster runs {self._name}")
        made = await _made(self._resources, self._namespace, self._kind, unknown)
        return obj, made.get(_uid(obj)), await _admission(self._resources, self._namespace, obj, unknown)

    async def last_event(self) -> EventSummary | None:
        """Return the last Event of a musterd about the object; None where there is none. Raises ``ApiError``."""
        about = f"involvedObject.kind={self._kind.subject.kind},involvedObject.name={self._name.rpartition('/')[2]}"
        found = await self._resources.list(
            core(self._namespace, "events"), {"fieldSelector": f"{about},reportingComponent={MANAGER}"}
        )
        return _last_said(map(event_summary, found))


async def list_all(resources: ResourceClient, subject: Subject, namespace: str | None) -> list[Snapshot]:
    """Return the objects of a kind that Muster runs, or would watch over."""
    if subject == PODS:
        pods = await _read(resources, namespace, LABELLED_PODS)
        return [look(LABELLED_PODS, obj, pods, time.time()) for obj in sets_of(pods)]
    with known_kind(f"{subject.word}/"):
        objects = await resources.list(collection_path(namespace, subject))
    kind = next((each for obj in objects if (each := kind_of(obj, subject.word)) and each.wanted(obj)), None)
    if kind is None:
        return [snapshot_of(obj) for obj in objects if kind_of(obj, subject.word) is None]
    found: dict[tuple[str, str], list[ReadPod]] = {}
    refused: tuple[str, ...] = ()
    try:
        for pod in await _read(resources, namespace, kind):
            found.setdefault((pod.record.namespace, pod.record.owner), []).append(pod)
    except Forbidden as error:
        refused = (error.message,)
    parts = await _made(resources, namespace, kind, {})
    seen = []
    for obj in objects:
        if kind_of(obj, subject.word) is None:
            seen.append(snapshot_of(obj))
        elif kind.wanted(obj):
            space = text(mapping(obj.get("metadata")), "namespace")
            own = [pod for claim in kind.claims(obj) for pod in found.get((space, claim.owner), ())]
            seen.append(look(kind, obj, None if refused else own, time.time(), refused, made=parts.get(_uid(obj))))
    return seen


async def list_stuck(resources: ResourceClient, namespace: str | None, unknown: MutableSequence[str]) -> list[Snapshot]:
    """Return the watched runs of a namespace, or of all (None), whose last Event of musterd is Stuck.

    Kinds that the cluster does not have are left out, and what the caller may not read, which ``unknown`` gets. Where
    nothing is Stuck it costs one request. Raises ``ApiError``.
    """
    path = core(namespace, "events")
    try:
        heard = await resources.list(path, {"fieldSelector": f"reason={STUCK}"})
    except Forbidden as error:
        unknown.append(f"{lacks(error, 'list of events')}: {NOT_LISTED}")
        return []
    about = {(text(_about(each), "apiVersion").rpartition("/")[0], text(_about(each), "kind")) for each in heard}
    if ("", "Pod") in about:
        about.add((PODS.group, PODS.kind))
    watched = [kind for kind in WATCHED_KINDS.values() if (kind.subject.group, kind.subject.kind) in about]
    if not watched:
        return []
    by_uid: defaultdict[str, list[EventSummary]] = defaultdict(list)
    for each in await resources.list(path, {"fieldSelector": f"reportingComponent={MANAGER}"}):
        by_uid[text(_about(each), "uid")].append(event_summary(each))
    found = []
    for kind in watched:
        try:
            with suppress(NotInstalled):
                found += await list_all(resources, kind.subject, namespace)
        except Forbidden as error:
            right = f"list of {kind.subject.plural or 'pods'}"
            unknown.append(f"{lacks(error, right)}: {NOT_LISTED}")
    judged = (_judged(seen, [event for uid in uids_of(seen) for event in by_uid[uid]]) for seen in found)
    return [seen for seen in judged if seen is not None]


def _about(event: Json) -> Json:
    return mapping(event.get("involvedObject"))


def _judged(seen: Snapshot, events: Sequence[EventSummary]) -> Snapshot | None:
    """Return the run with the sentence of musterd's Event, if it is watched and Stuck."""
    if seen.watched is None:
        return None
    status = as_musterd_reported(seen, events)
    if status.reason != STUCK:  # its pods have changed since the Event, and may show it still
        return seen if seen.holds(STUCK) else None
    since = max(event.at or 0.0 for event in events if event.reason == STUCK)
    stuck = Condition(ConditionType.STUCK, True, STUCK, status.message, 0, since)
    others = (each for each in status.conditions if each.type is not ConditionType.STUCK)
    return replace(seen, status=structs.replace(status, conditions=(*others, stuck)))


async def _made(
    resources: ResourceClient, namespace: str | None, kind: WatchedKind, unknown: MutableMapping[str, str]
) -> dict[str, Json]:
    """Return the objects made by controllers for those of that kind, by their uids; empty if none can be read."""
    if kind.made is None:
        return {}
    try:
        found = await resources.list(collection_path(namespace, kind.made.subject))
    except Forbidden as error:
        what = lacks(error, f"list of {kind.made.subject.plural}")
        unknown["made"] = f"{what}: what its controller has made of it is not known"
        return {}
    except ApiError:  # the pods that the object states itself are looked at without it
        return {}
    owned = ((each, owner) for each in found for owner in items(mapping(each.get("metadata")).get("ownerReferences")))
    return {text(owner, "uid"): each for each, owner in owned if owner.get("kind") == kind.subject.kind}


def _uid(obj: Json) -> str:
    return text(mapping(obj.get("metadata")), "uid")


async def _with_events(resources: ResourceClient, seen: Snapshot) -> Snapshot:
    """Return the snapshot with musterd's last word, where Events may be read."""
    if seen.watched is None:
        return seen
    try:
        events = await events_of(resources, seen)
    except ApiError:  # Events are kept for an hour only; the pods' state holds without them
        return seen
    return replace(seen, status=as_musterd_reported(seen, events))


async def _remark(resources: ResourceClient, obj: Json, seen: WatchedSnapshot) -> tuple[Remark | None, str]:
    """Return the reason that a controller gives for pods that it does not make, or why that cannot be read."""
    assert seen.plan is not None
    since = moment(mapping(obj.get("metadata")).get("creationTimestamp")) or 0.0
    try:
        return await read_remark(
            resources.transport, seen.plan.namespace, seen.absent, since=since, secrets=secrets_within(obj.get("spec"))
        ), ""
    except Forbidden:
        return None, UNREADABLE
    except ApiError:
        return None, ""


async def _admission(
    resources: ResourceClient, namespace: str, obj: Json, unknown: MutableMapping[str, str]
) -> Workload | None:
    """Return the Workload that Kueue has made for an object with a queue label; None where it cannot be read."""
    meta = mapping(obj.get("metadata"))
    if not local_queue_of(meta.get("labels")):
        return None
    params = {"labelSelector": f"{JOB_UID_LABEL}={text(meta, 'uid')}"}
    try:
        found = await resources.list(custom(workloads.API_VERSION, namespace, workloads.PLURAL), params)
        read = [workloads.flatten(msgspec.convert(raw, workloads.WorkloadDocument)) for raw in found]
    except Forbidden as error:
        unknown["queue"] = f"{lacks(error, f'list of {workloads.PLURAL}')}: whether its queue admits it is not known"
        return None
    except (ApiError, msgspec.ValidationError, ValueError):  # Kueue's kinds may not be served, or not be readable
        return None
    return max(read, key=lambda each: (not each.deleting, each.created), default=None)


async def _read(
    resources: ResourceClient, namespace: str | None, kind: WatchedKind, obj: Json | None = None
) -> list[ReadPod]:
    pods: list[ReadPod] = []
    for number, selector in enumerate(selectors(kind, obj)):
        pods += read(kind, number, await resources.list(core(namespace, "pods"), {"labelSelector": selector}))
    return pods


def as_musterd_reported(seen: Snapshot, events: Iterable[EventSummary]) -> ExperimentStatus:
    """Return the status with musterd's last Event as its sentence, if its reason lasts and no pod has changed since.

    musterd knows the roll, and how long a run has been as it is. A verdict of the object's own controller remains. An
    Event of what happened once, such as the end of a member that was replaced, is no sentence of how the run is now.
    """
    status, watched = seen.status, seen.watched
    last = _last_said(each for each in events if each.source == MANAGER)
    if (
        last is None
        or last.reason not in LASTING
        or watched is None
        or watched.record is None
        or not watched.record.gathering
        or (last.at or 0.0) < watched.news_at
        or (watched.absent and watched.view.remark is not None)  # it is what musterd quotes, and newer
    ):
        return status
    conditions = tuple(_stuck_since(each, last) for each in status.conditions)
    message = f"{last.message} (musterd's last Event)"
    return structs.replace(status, reason=last.reason, message=message, conditions=conditions)


def _last_said(events: Iterable[EventSummary]) -> EventSummary | None:
    """Return the last Event of musterd. The one that names the incident of a Stuck run takes nothing back.

    Events have whole seconds: of those of one second the one about what lasts counts.
    """
    heard = (each for each in events if each.at is not None and each.reason != INCIDENT)
    return max(heard, key=lambda each: (each.at or 0.0, each.reason in LASTING), default=None)


def _stuck_since(condition: Condition, event: EventSummary) -> Condition:
    """Return Stuck as in that Event, which has its start."""
    if condition.type != ConditionType.STUCK or event.reason != ConditionType.STUCK or condition.status:
        return condition
    return structs.replace(condition, status=True, since=event.at or 0.0, message=event.message)
