"""The content of a tenant's objects does not stay in the daemon's memory."""

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from muster.api.manifest.yaml.reader import MAX_BYTES
from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.listwatch.store import Store
from muster.watchers import experiments
from muster.watchers.experiments import ExperimentRecord
from tests.fakes.apiserver import event

MEGABYTE = 2**20


class Ground:
    """The experiments' store and the index, as the daemon has them."""

    def __init__(self) -> None:
        self.index = ExperimentIndex(wanted=lambda _uid: None, gone=lambda _uid: None)
        self.store = Store[ExperimentRecord](self.index.experiment_changed, keep=experiments.stripped)

    def take(self, number: int, version: int = 1, **parts: Any) -> None:
        record = experiments.DECODER.event(event("ADDED", experiment(number, version, **parts))).obj
        assert record is not None
        self.store.put(record, version)


def experiment(number: int, version: int, *, padding: str = "", metadata: Any = None, **spec: Any) -> dict[str, Any]:
    worker = {"count": 2, "resources": {"cpus": 1, "ramRatio": 2}}
    usual = {"operator": "jobset", "image": "x", "command": f"train {padding}", "types": {"worker": worker}}
    named = {"uid": f"u{number}", "name": f"run-{number}", "namespace": "team", "generation": version}
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Experiment",
        "metadata": {**named, "resourceVersion": str(version), **(metadata or {})},
        "spec": {**usual, **spec},
    }


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_annotations_and_managed_fields_of_experiments_are_not_kept() -> None:
    """150 experiments of 0.84 MB each; kept whole they took 126 MB."""
    ground = Ground()
    ground.take(0)
    before, _ = tracemalloc.get_traced_memory()
    filler = {"annotations": {"a": "x" * 420_000}, "managedFields": [{"manager": "y" * 420_000}]}
    for number in range(1, 151):
        ground.take(number, metadata=filler)
    after, _ = tracemalloc.get_traced_memory()
    assert len(ground.index.entries) == len(ground.store.objects) == 151
    assert all(entry.plan is not None for entry in ground.index)
    assert after - before < 3 * MEGABYTE


@pytest.mark.usefixtures("traced")
def test_a_spec_that_is_too_large_is_refused_and_not_kept() -> None:
    ground = Ground()
    ground.take(0)
    before, _ = tracemalloc.get_traced_memory()
    for number in range(1, 151):
        ground.take(number, padding="x" * 840_000)
    after, _ = tracemalloc.get_traced_memory()
    refused = ground.index.get("u1")
    assert refused is not None
    assert refused.plan is None
    assert f"at most {MAX_BYTES} are read" in refused.problem
    assert after - before < 3 * MEGABYTE


def test_spec_and_status_are_let_go_once_they_are_read() -> None:
    ground = Ground()
    ground.take(1)
    entry = ground.index.get("u1")
    assert entry is not None
    assert (entry.seen.spec, entry.seen.status) == (b"", b"")
    assert [record.spec for record in ground.store] == [b""]
    listed = experiments.DECODER.page(
        json.dumps({"metadata": {"resourceVersion": "9"}, "items": [experiment(1, 1), experiment(2, 1)]}).encode()
    )
    ground.store.replace(listed.objects, 9)
    assert [record.spec for record in ground.store] == [b"", b""]
    assert ground.index.get("u2") is not None
