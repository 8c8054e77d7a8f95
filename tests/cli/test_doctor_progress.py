"""``muster doctor`` says where members that are to send their progress cannot."""

from typing import Any

import pytest

from muster.cli.doctor.daemon import Release
from muster.cli.doctor.monitoring import SERVED, SILENT, progress_endpoint
from muster.client import Snapshot
from muster.client.snapshot import snapshot_of

NOW = 1_780_000_000.0
STARTED, BEGAN = "2026-05-28T20:00:00Z", 1_779_998_400.0
SERVES_NONE = f"team/run has spec.progressEndpoint, and musterd serves none ({SERVED} is not set)"
SERVING = Release([{"spec": {"containers": [{"args": [f"{SERVED}=8443"]}]}}])


def run(*, asks: bool = True, steps: bool = False, phase: str = "Running") -> Snapshot:
    status: dict[str, Any] = {"phase": phase, "assembledTime": STARTED}
    if steps:
        status["steps"] = {"epoch": 0, "step": 3, "time": STARTED}
    metadata = {"name": "run", "namespace": "team", "uid": "u", "resourceVersion": "1"}
    return snapshot_of({"metadata": metadata, "spec": {"progressEndpoint": True} if asks else {}, "status": status})


@pytest.mark.parametrize(
    ("daemons", "runs", "now", "findings"),
    [
        (SERVING, [run(asks=False), run(phase="Succeeded")], NOW, []),
        (Release([{"spec": {"containers": [{"args": []}]}}]), [run()], NOW, [("warning", SERVES_NONE)]),
        (SERVING, [run()], NOW, [("warning", f"team/run has run for more than {SILENT:g} s and has sent no step")]),
        (SERVING, [run()], BEGAN + SILENT, [("ok", "team/run has it, and has not run long enough to judge")]),
        (SERVING, [run(steps=True), run()], NOW, [("ok", "1 of 2 experiments that ask for it have reported")]),
    ],
    ids=["none asks for it", "musterd serves none", "silent for long", "not yet for long", "the way is open"],
)
def test_a_run_that_is_to_send_its_progress_and_cannot_is_named(
    daemons: Release, runs: list[Snapshot], now: float, findings: list[tuple[str, str]]
) -> None:
    assert [(each.state, each.found) for each in progress_endpoint(daemons, runs, now)] == findings
