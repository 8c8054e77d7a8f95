"""``muster doctor`` says where members that are to send their progress cannot."""

from typing import Any

from muster.cli.doctor.daemon import Release
from muster.cli.doctor.monitoring import SERVED, SILENT, progress_endpoint
from muster.client import Snapshot
from muster.client.snapshot import snapshot_of

NOW = 1_780_000_000.0
STARTED = "2026-05-28T20:00:00Z"  # 1,779,998,400
SERVING = Release([{"spec": {"containers": [{"args": [f"{SERVED}=8443"]}]}}])


def run(*, asks: bool = True, steps: bool = False, phase: str = "Running") -> Snapshot:
    status: dict[str, Any] = {"phase": phase, "assembledTime": STARTED}
    if steps:
        status["steps"] = {"epoch": 0, "step": 3, "time": STARTED}
    metadata = {"name": "run", "namespace": "team", "uid": "u", "resourceVersion": "1"}
    spec = {"progressEndpoint": True} if asks else {}
    return snapshot_of(
        {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "Experiment",
            "metadata": metadata,
            "spec": spec,
            "status": status,
        }
    )


def said(daemons: Release, *every: Snapshot, now: float = NOW) -> list[tuple[str, str]]:
    return [(each.state, each.found) for each in progress_endpoint(daemons, every, now)]


def test_nothing_is_said_where_no_experiment_asks_for_it() -> None:
    assert said(SERVING, run(asks=False), run(phase="Succeeded")) == []


def test_a_musterd_without_the_endpoint_is_named() -> None:
    ((state, found),) = said(Release([{"spec": {"containers": [{"args": []}]}}]), run())
    assert (state, found) == (
        "warning",
        f"team/run has spec.progressEndpoint, and musterd serves none ({SERVED} is not set)",
    )


def test_a_run_that_has_sent_nothing_for_long_is_named() -> None:
    ((state, found),) = said(SERVING, run())
    assert (state, found) == ("warning", f"team/run has run for more than {SILENT:g} s and has sent no step")
    ((state, _),) = said(SERVING, run(), now=1_779_998_400.0 + SILENT)
    assert state == "ok"


def test_one_that_has_reported_shows_that_the_way_is_open() -> None:
    assert said(SERVING, run(steps=True), run()) == [("ok", "1 of 2 experiments that ask for it have reported")]
