"""`muster diagnose`: who is missing from a run of another controller, where no musterd is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from muster.kinds.registry.watched_kinds import WATCHED_KINDS
from muster.local.apiserver.objects import object_store
from tests.cli.conftest import Call
from tests.client.localserver import LocalServer
from tests.fakes.coordinator import FakeCoordinator
from tests.fakes.tcpstore import FakeStore

LONG_AGO = "2026-01-01T00:00:00Z"
INDEX = "batch.kubernetes.io/job-completion-index"
PULL = {"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}}


@contextmanager
def beside(server: LocalServer, made: Any) -> Iterator[Any]:
    """Something that is opened and closed on the server's thread."""

    def on_it(work: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(wait(), server.loop).result(10)

    opened = on_it(made.__aenter__())
    try:
        yield opened
    finally:
        on_it(made.__aexit__(None, None, None))


@pytest.fixture(autouse=True)
def no_admission(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local cluster admits no Jobs."""
    monkeypatch.setattr(object_store, "admit", lambda *_: None)


@pytest.fixture
def pod(server: LocalServer) -> Callable[..., None]:
    """Makes a pod that runs, or that waits for its image."""

    def make(name: str, labels: dict[str, str], *, waits: bool = False, **meta: Any) -> None:
        metadata = {"name": name, "labels": labels, "creationTimestamp": LONG_AGO, **meta}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        spec = {"containers": [{"name": "main", "image": "none"}], "nodeName": "n1"}
        state = PULL if waits else {"running": {"startedAt": LONG_AGO}}
        container = {"name": "main", "image": "none", "imageID": "", "ready": not waits, "restartCount": 0}
        conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": str(not waits)}]
        status = {
            "phase": "Pending" if waits else "Running",
            "podIP": "127.0.0.1",
            "conditions": conditions,
            "containerStatuses": [{**container, "state": state}],
        }
        server.put("v1", "pods", "default", {**body, "spec": spec})
        server.put("v1", "pods", "default", {**body, "status": status}, "status")

    return make


def jobset(
    server: LocalServer, pod: Callable[..., None], *, port: int, size: int = 3, waits: tuple[int, ...] = ()
) -> str:
    """A JobSet of JAX workers, of which some wait for their image."""
    template = {"spec": {"completions": size, "parallelism": size, "completionMode": "Indexed"}}
    spec = {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": template}]}
    notes = {"muster.dev/operator": "jax", "muster.dev/coordinator-port": str(port)}
    kind = WATCHED_KINDS["jobsets"].subject
    made = server.put(
        kind.api_version, kind.plural, "default",
        {"kind": "JobSet", "metadata": {"name": "train", "annotations": notes}, "spec": spec},
    )  # fmt: skip
    prefix = "jobset.sigs.k8s.io/"
    labels = {f"{prefix}jobset-name": "train", f"{prefix}jobset-uid": made["metadata"]["uid"]}
    labels |= {f"{prefix}replicatedjob-name": "workers", f"{prefix}job-index": "0"}
    for rank in range(size):
        pod(f"train-workers-0-{rank}", {**labels, INDEX: str(rank)}, waits=rank in waits)
    return "jobset/train"


def test_the_rank_that_is_missing_from_the_roll_of_a_jobset_is_named_with_its_cause(
    call: Call, server: LocalServer, pod: Callable[..., None]
) -> None:
    with beside(server, FakeCoordinator(3)) as coordinator:
        server.do(lambda: coordinator.arrive(0, 1))
        name = jobset(server, pod, port=int(coordinator.address.rpartition(":")[2]), waits=(2,))
        shown = call("diagnose", name)
    assert shown.exit_code == 6, shown.stdout + shown.stderr
    assert "2 of 3 ranks have arrived, as the coordinator says; missing 2" in shown.stdout
    assert "rank 2: " in shown.stdout
    assert "(ImagePull)" in shown.stdout
    assert "not known" not in shown.stdout
    assert coordinator.forbidden_calls == []


def test_pods_without_a_label_of_musters_are_one_run_by_a_selector(
    call: Call, server: LocalServer, pod: Callable[..., None]
) -> None:
    with beside(server, FakeStore()) as store:
        for rank in range(3):
            pod(f"train-{rank}", {"app": "train"})
        pod("other-0", {"app": "other"}, waits=True)
        store.join(0, 2)
        words = ("pods", "-l", "app=train", "--operator", "pytorch", "--ranks", "3")
        shown = call("diagnose", *words, "--coordinator", store.address.rpartition(":")[2], "-o", "json")
    assert shown.exit_code == 6, shown.stdout + shown.stderr
    found = json.loads(shown.stdout)
    assert (found["arrived"], found["size"], found["missingRanks"][0]["rank"]) == (2, 3, 1)
    (finding,) = found["findings"]
    assert (finding["ranks"], finding["cause"]) == ([1], "NotArrived")
    assert "kubectl logs train-1 -n default" in finding["nextStep"]
    assert found["trouble"] is True
    assert found["unknown"] == {}
