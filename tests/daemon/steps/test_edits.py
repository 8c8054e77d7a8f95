"""Edits of a running experiment that are applied: each one holds for the next event, and restarts nothing."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import RUN, Cluster, edit, experiment, virtually

TWO_JOBS = {"worker": {"count": 2, "resources": {"cpus": 1, "ramRatio": 2}}}


def nothing(_: Cluster) -> None:
    """Let time pass."""


def fails(cluster: Cluster) -> None:
    cluster.end(1, code=3)


def succeeds(cluster: Cluster) -> None:
    cluster.end(1)


@pytest.mark.parametrize(
    ("spec", "happens", "phase", "reason"),
    [
        ({}, fails, "Restarting", None),
        ({"timeout": "5s"}, nothing, "Failed", "DeadlineExceeded"),
        ({"clocks": {"progress": {"after": "5s", "action": "Fail"}}}, nothing, "Failed", "ProgressDeadlineExceeded"),
        ({"restartPolicy": {"backoffLimit": 0}}, fails, "Failed", "BackoffLimitExceeded"),
        (
            {"failurePolicy": {"rules": [{"action": "FailExperiment", "onExitCodes": [3]}]}},
            fails,
            "Failed",
            "FailureRule",
        ),
        ({"successPolicy": {"operator": "Any"}}, succeeds, "Succeeded", "SuccessPolicyMet"),
        ({"suspend": True}, nothing, "Suspended", None),
        ({"cancel": True}, nothing, "Failed", "Cancelled"),
    ],
)
@virtually
async def test_an_edit_that_is_applied_is_in_force_for_what_happens_next(
    cluster: Cluster,
    daemon: Daemon,
    spec: dict[str, Any],
    happens: Callable[[Cluster], None],
    phase: str,
    reason: str | None,
) -> None:
    cluster.api.put(RUN, experiment(types=TWO_JOBS, restartPolicy={"backoff": {"initial": "1m"}}))
    await asyncio.sleep(3)
    cluster.start(0, 1)
    await asyncio.sleep(10)
    assert cluster.status["phase"] == "Running"
    edit(cluster.api, RUN, **spec)
    await asyncio.sleep(1)
    happens(cluster)
    await asyncio.sleep(5)
    assert cluster.status["phase"] == phase
    assert reason in (None, cluster.status["reason"])
    assert cluster.status.get("pendingEdits", "") == ""
