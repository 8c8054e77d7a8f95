"""The page that compares: Muster prints each sentence that it quotes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pytest

from muster.api.names import JOB_UID_LABEL
from muster.kinds.registry import WATCHED_KINDS
from muster.reconcilers.render.workload import API_VERSION
from tests.cli.conftest import Call
from tests.cli.diagnosed import LONG_AGO, beside, jobset
from tests.client.localserver import LocalServer, ended
from tests.docs.commands import ROOT
from tests.e2e.kueue import KINDS, crd
from tests.fakes.coordinator import FakeCoordinator
from tests.watched_runs.kuberay.recorded import recorded
from tests.watched_runs.kuberay.test_replay import story

pytestmark = pytest.mark.usefixtures("diagnosable")
PAGE: Final = (ROOT / "docs/why.md").read_text(encoding="utf-8")
ROWS: Final = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if re.match(r"\| (The|One) ", line)]
"""What happens, what others show, and what Muster prints."""
QUOTA: Final = (
    "couldn't assign flavors to pod set workers: insufficient unused quota for cpu in flavor standard, 4 more needed"
)
REPLAYED: Final = {
    "The image of one worker": ("d1", "user: create"),
    "The coordinator is frozen": ("c3", "fault: gcs_server stopped"),
    "One rank is killed": ("b", "fault: ray container of worker"),
    "The head's pod is replaced": ("c2", "user: delete head pod"),
}
"""By how its row begins: the recording of a situation, and the mark with which it begins."""


def exits(server: LocalServer) -> str:
    """A JobSet of two: rank 1 has exited with 7."""
    name = jobset(server, 1, size=2)
    body = {"kind": "Pod", "metadata": {"name": "train-workers-0-1"}, "status": ended(7)}
    server.put("v1", "pods", "default", body, "status")
    return name


def queued(server: LocalServer) -> str:
    """A JobSet that waits in a queue of Kueue without quota."""
    server.put("apiextensions.k8s.io/v1", "customresourcedefinitions", "", crd(*KINDS[0]))
    subject = WATCHED_KINDS["jobsets"].subject
    template = {"spec": {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}}
    spec = {"suspend": True, "replicatedJobs": [{"name": "workers", "replicas": 1, "template": template}]}
    meta = {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    made = server.put(
        subject.api_version, subject.plural, "default", {"kind": "JobSet", "metadata": meta, "spec": spec}
    )
    work: dict[str, Any] = {"kind": "Workload", "spec": {"queueName": "q"}}
    work["metadata"] = {"name": "train", "labels": {JOB_UID_LABEL: made["metadata"]["uid"]}}
    server.put(API_VERSION, "workloads", "default", work)
    waits = {"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota", "message": QUOTA}
    status = {"conditions": [{**waits, "lastTransitionTime": LONG_AGO}]}
    server.put(API_VERSION, "workloads", "default", {**work, "status": status}, "status")
    return "jobset/train"


DIAGNOSED: Final[dict[str, tuple[int, Callable[[LocalServer], str] | None]]] = {
    "One rank of two exits": (0, exits),
    "The queue has no quota": (0, queued),
    "One rank never calls": (3, None),
    "The program starts with a wrong number": (2, None),
}
"""By how its row begins: the size of a gang whose coordinator has heard of two of three, or how it is made."""


def row(begins: str) -> tuple[str, float]:
    """The sentence of a row, and the seconds after which it is printed, where the row has them."""
    (found,) = [each[2] for each in ROWS if each[0].startswith(begins)]
    sentence, _, after = found.removeprefix("`").partition("`")
    return sentence, float(re.sub(r"[^0-9.]", "", after) or 0)


def test_each_row_is_checked() -> None:
    assert len(ROWS) == len(REPLAYED) + len(DIAGNOSED) == 8


@pytest.mark.parametrize("begins", REPLAYED)
def test_what_is_quoted_of_a_recording_is_printed_at_that_second(begins: str) -> None:
    name, mark = REPLAYED[begins]
    sentence, after = row(begins)
    began = recorded(name).mark(mark)
    assert story(name).first(sentence, since=began) == pytest.approx(began + after, abs=0.3)


@pytest.mark.parametrize("begins", DIAGNOSED)
def test_what_is_quoted_of_muster_diagnose_is_printed(call: Call, server: LocalServer, begins: str) -> None:
    size, made = DIAGNOSED[begins]
    with beside(server, FakeCoordinator(3)) as coordinator:
        server.do(lambda: coordinator.arrive(0, 1))
        name = made(server) if made is not None else jobset(server, coordinator.port, size=size)
        shown = call("diagnose", name)
    assert row(begins)[0] in shown.stdout, shown.output
