"""Reads runs of other controllers: their object, their pods by label, and what musterd has said of them in Events."""

import time
from collections.abc import Sequence
from dataclasses import replace

from muster.api.errors import ApiError, Forbidden
from muster.client.errors import NoSuchExperiment
from muster.client.events import EventSummary, event_summary, oldest_first
from muster.client.observed import ReadPod, as_musterd_said, kind_of, look, read, selectors, sets_of
from muster.client.snapshot import Snapshot, known_kind, snapshot_of
from muster.client.subjects import collection_path, object_path
from muster.kube.paths import core
from muster.kube.resources import ResourceClient
from muster.kube.unstructured import Json, mapping, text
from muster.state.foreign.subject import Subject
from muster.state.observed.observed_kind import ObservedKind
from muster.state.operators.observed.pods import LABELLED_PODS, OBSERVE, PODS


async def get(resources: ResourceClient, subject: Subject, namespace: str, name: str) -> Snapshot:
    """The object called ``name``, such as ``job/train``, whoever runs it. Raises ``NoSuchExperiment``."""
    own = name.rpartition("/")[2]
    if subject == PODS:
        core(namespace, "pods", own)  # refuses what cannot be a name
        pods = read(
            LABELLED_PODS, 0, await resources.list(core(namespace, "pods"), {"labelSelector": f"{OBSERVE}={own}"})
        )
        found = sets_of(pods)
        if not found:
            raise NoSuchExperiment(f"no pod of namespace {namespace} has the label {OBSERVE}={own}")
        return await _with_events(resources, _snapshot(LABELLED_PODS, found[0], pods))
    with known_kind(name, namespace):
        obj = await resources.get(object_path(namespace, name))
    observed = kind_of(obj, subject.kind)
    if observed is None:
        return snapshot_of(obj)
    try:
        pods = [pod for n in range(len(observed.pods)) for pod in await _read(resources, namespace, observed, n, obj)]
    except Forbidden as error:
        return _snapshot(observed, obj, None, (error.message,))
    return await _with_events(resources, _snapshot(observed, obj, pods))


async def list_all(resources: ResourceClient, subject: Subject, namespace: str | None) -> list[Snapshot]:
    """The objects of a kind that Muster runs, or would watch over."""
    if subject == PODS:
        pods = await _read(resources, namespace, LABELLED_PODS, 0, None)
        return [_snapshot(LABELLED_PODS, obj, pods) for obj in sets_of(pods)]
    with known_kind(f"{subject.kind}/"):
        objects = await resources.list(collection_path(namespace, subject))
    observed = {id(obj): kind for obj in objects if (kind := kind_of(obj, subject.kind)) is not None}
    kind = next((each for obj in objects if (each := observed.get(id(obj))) and each.wanted(obj)), None)
    if kind is None:
        return [snapshot_of(obj) for obj in objects if id(obj) not in observed]
    found: dict[tuple[str, str], list[ReadPod]] = {}
    refused: tuple[str, ...] = ()
    try:
        for number in range(len(kind.pods)):
            for pod in await _read(resources, namespace, kind, number, None):
                found.setdefault((pod.record.namespace, pod.record.owner), []).append(pod)
    except Forbidden as error:
        refused = (error.message,)
    seen = []
    for obj in objects:
        if id(obj) not in observed:
            seen.append(snapshot_of(obj))
        elif kind.wanted(obj):
            space = text(mapping(obj.get("metadata")), "namespace")
            own = [pod for claim in kind.claims(obj) for pod in found.get((space, claim.owner), ())]
            seen.append(_snapshot(kind, obj, None if refused else own, refused))
    return seen


async def events_of(resources: ResourceClient, seen: Snapshot) -> Sequence[EventSummary]:
    """The Events about an object, oldest first. Those of labelled pods are on the pods."""
    if seen.subject != PODS:
        chosen = f"involvedObject.kind={seen.subject.kind},involvedObject.uid={seen.uid}"
        found = await resources.list(core(seen.namespace, "events"), {"fieldSelector": chosen})
        return list(oldest_first(map(event_summary, found)))
    members = {member.uid for member in seen.observed.all_members} if seen.observed is not None else set()
    found = await resources.list(core(seen.namespace, "events"), {"fieldSelector": "involvedObject.kind=Pod"})
    about = [each for each in found if text(mapping(each.get("involvedObject")), "uid") in members]
    return list(oldest_first(map(event_summary, about)))


async def _with_events(resources: ResourceClient, seen: Snapshot) -> Snapshot:
    """The snapshot with musterd's last word, where Events may be read."""
    if seen.observed is None:
        return seen
    try:
        events = await events_of(resources, seen)
    except ApiError:  # they are kept for an hour only; what the pods say stands without them
        return seen
    return replace(seen, status=as_musterd_said(seen.status, seen.observed, events))


async def _read(
    resources: ResourceClient, namespace: str | None, kind: ObservedKind, number: int, obj: Json | None
) -> list[ReadPod]:
    params = {"labelSelector": selectors(kind, obj)[number]}
    return read(kind, number, await resources.list(core(namespace, "pods"), params))


def _snapshot(
    kind: ObservedKind, obj: Json, pods: Sequence[ReadPod] | None, unreadable: tuple[str, ...] = ()
) -> Snapshot:
    """The snapshot of an object of another controller."""
    obj = {**obj, "kind": kind.subject.kind}  # lists of built-in kinds leave it out
    status, seen = look(kind, obj, pods, time.time(), unreadable)
    return replace(snapshot_of(obj), status=status, observed=seen)
