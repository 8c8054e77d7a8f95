"""A pod that several watches deliver belongs to the first of them that has a place for it."""

from itertools import combinations
from typing import Any

import msgspec
import pytest

from muster.daemon.informers import sources_of
from muster.kinds.declaration import PodSource
from muster.kinds.registry import WATCHED_KINDS
from muster.watchers.watched import WatchedPodDocument, pod_reader_of
from tests.watched_samples import SAMPLES

SOURCES = sources_of(WATCHED_KINDS.values())
NAMED = {kind.name: kind for kind in WATCHED_KINDS.values() if kind.name in {each.name for each in SOURCES}}
LABELS: dict[str, dict[str, str]] = {
    **{name: {**SAMPLES[name].pods[0], SAMPLES[name].uid_label or "none": "u"} for name in NAMED},
    "rayjobs": {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "t"},  # its submitter
}
"""The labels that the pods of each source have at least."""
CONTROLLERS = {name: SAMPLES[name].controller for name in NAMED if SAMPLES[name].controller}
"""The kind of the controller, if a place follows from it."""
PAIRS = [pytest.param(*pair, id="-".join(each.name for each in pair)) for pair in combinations(SOURCES, 2)]


def owners(labels: dict[str, str], controller: str, *sources: PodSource) -> list[str]:
    """Return the owner of one pod by each watch of these sources; only watches whose selector fits deliver it."""
    metadata: dict[str, Any] = {"name": "t-0", "namespace": "team", "uid": "u1", "resourceVersion": "1"}
    metadata["ownerReferences"] = [{"kind": controller, "name": "t", "uid": "u", "controller": True}]
    metadata["labels"] = labels
    document = msgspec.convert({"metadata": metadata, "spec": {}, "status": {}}, WatchedPodDocument)
    read = (pod_reader_of(each, sources[:n])(document) for n, each in enumerate(sources) if each.label in labels)
    return [pod.owner for pod in read if pod.owner]


def test_each_source_has_a_sample() -> None:
    assert set(LABELS) == {each.name for each in SOURCES}
    for each in SOURCES:
        assert len(owners(LABELS[each.name], CONTROLLERS.get(each.name, "Other"), each)) == 1


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_a_pod_with_a_place_in_both_is_of_the_outer_kind_alone(outer: PodSource, inner: PodSource) -> None:
    labels, controller = LABELS[outer.name] | LABELS[inner.name], CONTROLLERS.get(outer.name, "Job")
    alone = owners(labels, controller, outer)
    assert owners(labels, controller, outer, inner) == alone
    assert len(alone) == 1


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_a_pod_that_only_bears_the_label_of_an_outer_kind_is_of_the_inner(outer: PodSource, inner: PodSource) -> None:
    controller = CONTROLLERS.get(inner.name, "PyTorchJob")
    labels = {outer.label: "t"} | LABELS[inner.name]
    assert owners({outer.label: "t"}, controller, outer) == [], "the label alone is no place"
    alone = owners(labels, controller, inner)
    assert owners(labels, controller, outer, inner) == alone
    assert len(alone) == ((outer.name, inner.name) != ("rayclusters", "rayjobs")), (
        "a submitter bears no cluster's label"
    )


@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_a_pod_of_an_experiment_is_of_no_watched_run(number: int) -> None:
    source = SOURCES[number]
    labels = LABELS[source.name] | {"muster.dev/experiment-uid": "e1"}
    assert owners(labels, CONTROLLERS.get(source.name, "Experiment"), source) == []
