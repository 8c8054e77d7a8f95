"""Objects and pods of watched runs, as the same flat records as those of Muster's own.

A pod is read by the labels of its kind (``PodSource``). One that belongs to a run of another watch, or to none, is a
record without an owner, which nothing reads. It belongs to the first watch that has a place for it: the label alone
proves little, as the jobs of all kinds of Kubeflow's training operator label their pods as a JAXJob does.
"""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from sys import intern
from typing import Any, TypedDict

import msgspec
from msgspec.structs import replace

from muster.api.names import LABEL_UID
from muster.api.values.accelerators import Devices, of_containers
from muster.api.values.owners import NONE, OwnerLabels
from muster.api.values.printable import word
from muster.api.values.timestamps import seconds_of
from muster.kinds.declaration import Made, PodFacts, PodSource, WatchedKind
from muster.kube.listwatch.decoder import Projection
from muster.state.vocabulary.pod import Pod
from muster.watchers import experiments
from muster.watchers.experiments import Document, ExperimentRecord
from muster.watchers.metadata import ObjectMetadata
from muster.watchers.pods.containers import restarted_in_place
from muster.watchers.pods.decode import record_of
from muster.watchers.pods.document import AnyMetadata, AnyPod, Owner, Spec

OURS = "muster.dev/"
"""Prefix of the annotations that are read."""
INDEX = "batch.kubernetes.io/job-completion-index"
MOST = 64
"""Most annotations of one pod that are read."""
LONGEST = 256
"""Most characters of an annotation that are kept."""


class NamedOwner(Owner, gc=False):
    """metav1.OwnerReference with the owner's name."""

    name: str | None = None


class PodMetadata(AnyMetadata, gc=False):
    """metav1.ObjectMeta of a watched pod."""

    ownerReferences: list[NamedOwner] | None = None  # type: ignore[assignment] # noqa: N815
    creationTimestamp: str | None = None  # noqa: N815
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Resources(TypedDict, total=False):
    """core/v1 ResourceRequirements."""

    requests: dict[str, Any] | None
    limits: dict[str, Any] | None
    claims: list[dict[str, Any]] | None


class Container(TypedDict, total=False):
    """The resources of a container (core/v1 Container)."""

    resources: Resources | None


class SpecWithDevices(Spec, gc=False):
    """core/v1 PodSpec with the resources of its containers."""

    resourceClaims: list[dict[str, Any]] | None = None  # noqa: N815


class WatchedPodDocument(AnyPod, gc=False):
    """core/v1 Pod of a watched run."""

    metadata: PodMetadata
    spec: SpecWithDevices | None = None


class _Labelled(msgspec.Struct, gc=False):
    labels: Any = None


_METADATA, _LABELS = msgspec.json.Decoder(ObjectMetadata), msgspec.json.Decoder(_Labelled)


def object_decoder_of(
    kind: WatchedKind | Made, owners: OwnerLabels = NONE
) -> Projection[Document[msgspec.Raw], ExperimentRecord]:
    """Return the decoder of the objects of a watched kind."""

    def flatten(document: Document[msgspec.Raw]) -> ExperimentRecord:
        plain = Document(_METADATA.decode(document.metadata), document.spec, document.status)
        return replace(
            experiments.flatten(plain),
            kind=kind.subject.word,
            metadata=bytes(document.metadata),
            owners=owners.of(_LABELS.decode(document.metadata).labels) if owners.labels else (),
        )

    return Projection(kind.subject.word, Document[msgspec.Raw], flatten)


def watched_object(record: ExperimentRecord) -> dict[str, Any]:
    """Return the whole object. Raises ValueError or RecursionError if its JSON cannot be read."""
    return {
        "kind": record.kind,
        "metadata": json.loads(record.metadata),
        "spec": json.loads(record.spec or b"null"),
        "status": json.loads(record.status or b"null"),
    }


def pod_decoder_of(source: PodSource, outer: Sequence[PodSource]) -> Projection[WatchedPodDocument, Pod]:
    """Return the decoder of one watch of pods; those of ``outer`` watches are left to them."""
    return Projection("Pod", WatchedPodDocument, pod_reader_of(source, outer))


def pod_reader_of(source: PodSource, outer: Sequence[PodSource]) -> Callable[[WatchedPodDocument], Pod]:
    """Return the function that makes the records of one watch of pods; a pod of another watch gets no owner."""

    def flatten(document: WatchedPodDocument) -> Pod:
        facts = _facts(document.metadata)
        others = LABEL_UID in facts.labels or any(
            each.label in facts.labels and each.place_of(facts) is not None for each in outer
        )
        place = None if others else source.place_of(facts)
        by_phase = restarted_in_place(document.spec)
        created = seconds_of(document.metadata.creationTimestamp)
        if place is None:
            nowhere = {"owner": "", "group": "", "job": 0, "index": -1, "rank": -1, "epoch": 0}
            return record_of(document, by_phase=by_phase, **nowhere)
        return record_of(
            document,
            by_phase=by_phase,
            owner=intern(place.owner),
            group=place.group,
            job=place.job,
            index=place.index,
            rank=place.index,  # the group has one job, so the record need not be copied
            epoch=place.epoch,
            created=created,
            parent=intern(place.uid),
            asks=_asks(facts),
            devices=_devices(document.spec),
        )

    return flatten


_CONTAINERS = msgspec.json.Decoder(list[Container] | None)


def _devices(spec: SpecWithDevices | None) -> Devices:
    containers = _CONTAINERS.decode(spec.containers) if spec is not None else None
    if spec is None or not containers:
        return ()
    return _same(of_containers(containers, spec.resourceClaims))


@lru_cache(maxsize=4096)
def _same(found: Devices) -> Devices:
    """Return the one tuple of all pods that ask for the same devices, as those of a run do."""
    return found


def _facts(metadata: PodMetadata) -> PodFacts:
    owner = next((each for each in metadata.ownerReferences or () if each.controller), None)
    stated = metadata.annotations or {}
    return PodFacts(
        name=metadata.name or "",
        namespace=metadata.namespace or "",
        labels=metadata.labels or {},
        annotations={key: text for key, text in stated.items() if key.startswith(OURS) or key == INDEX},
        kind=word(owner.kind) if owner else "",
        owner=(owner.name or "") if owner else "",
        owner_uid=(owner.uid or "") if owner else "",
    )


def _asks(facts: PodFacts) -> str:
    """Return the annotations that address Muster for the whole run, as JSON; the text is the same for all its pods."""
    asked = {key: text for key, text in facts.annotations.items() if key not in ("muster.dev/rank", INDEX)}
    if not asked:
        return ""
    few = dict(sorted((key, text[:LONGEST]) for key, text in asked.items() if len(key) < LONGEST)[:MOST])
    return intern(json.dumps(few))
