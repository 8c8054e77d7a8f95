"""What the shipped Alertmanager says and keeps to itself where several alerts of one incident fire; on a real one."""

import asyncio
import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deploy.prometheus.groups import ALERTS
from muster.cli.processes.stack import free_port
from tests.deploy.prometheus.binaries import needed
from tests.deploy.prometheus.live.pipeline import SHIPPED, serve

pytestmark = pytest.mark.slow

RUN = {"namespace": "vision", "experiment": "llama"}
OTHER = {"namespace": "vision", "experiment": "other"}
DAEMON = {"job": "musterd"}
SEVERITY = {alert.name: alert.severity.value for alert in ALERTS}

Fired = tuple[str, Mapping[str, str]]
INCIDENTS: dict[str, tuple[list[Fired], set[str]]] = {
    "a rank is missing, then the coordinator ends of it and the gang is overdue": (
        [("MusterRankMissing", RUN), ("MusterCoordinatorStuck", RUN), ("MusterAssemblyOverdue", RUN)],
        {"MusterRankMissing llama"},
    ),
    "a rank of one run is missing, and the coordinator of another is frozen": (
        [("MusterRankMissing", RUN), ("MusterCoordinatorStuck", OTHER)],
        {"MusterRankMissing llama", "MusterCoordinatorStuck other"},
    ),
    "the coordinator of a watched run is gone": (
        [("MusterCoordinatorGone", RUN), ("MusterObservedRunStuck", RUN)],
        {"MusterCoordinatorGone llama"},
    ),
    "no musterd leads while a run was stuck": (
        [("MusterNoLeader", DAEMON), ("MusterRankMissing", RUN), ("MusterUnschedulable", OTHER)],
        {"MusterNoLeader"},
    ),
    "no musterd can be scraped": (
        [("MusterDaemonDown", DAEMON), ("MusterScrapesFail", DAEMON), ("MusterReplicaMissing", DAEMON)],
        {"MusterDaemonDown"},
    ),
    "no musterd leads in one cluster while a run of another is stuck": (
        [
            ("MusterNoLeader", {**DAEMON, "cluster": "us"}),
            ("MusterRankMissing", {**RUN, "cluster": "us"}),
            ("MusterHung", {**OTHER, "cluster": "eu"}),
        ],
        {"MusterNoLeader", "MusterHung other"},
    ),
    "no musterd of one shard can be scraped while a run of another shard is stuck": (
        [
            ("MusterDaemonDown", {**DAEMON, "shard": "nlp"}),
            ("MusterRankMissing", {**RUN, "shard": "nlp"}),
            ("MusterHung", {**OTHER, "shard": "vision"}),
            ("MusterRunExplained", {**OTHER, "shard": "nlp"}),
        ],
        {"MusterDaemonDown", "MusterHung other"},
    ),
    "no watch of the leader hears the API server": (
        [("MusterWatchStale", {**DAEMON, "resource": "pods"}), ("MusterHung", RUN)],
        {"MusterWatchStale"},
    ),
    "the watch of one kind is old, as without its right, while the pods of runs are known": (
        [("MusterWatchStale", {**DAEMON, "resource": "watched rayjobs"}), ("MusterHung", RUN)],
        {"MusterWatchStale", "MusterHung llama"},
    ),
    "musterd may not list nodes, and a plugin of the API server forbids the pods of a run": (
        [
            ("MusterRightsMissing", {**DAEMON, "verb": "list", "resource": "nodes"}),
            ("MusterCreateRefused", {**RUN, "reason": "RightsMissing"}),
            ("MusterCreateRefused", {**OTHER, "reason": "PodsForbidden"}),
        ],
        {"MusterRightsMissing", "MusterCreateRefused other"},
    ),
    "a standby's watch is old, which concerns no run": (
        [("MusterStandbyStale", DAEMON), ("MusterHung", RUN)],
        {"MusterStandbyStale", "MusterHung llama"},
    ),
}


@pytest.mark.parametrize("incident", INCIDENTS)
async def test_of_one_incident_only_its_cause_is_reported(incident: str, tmp_path: Path) -> None:
    needed("alertmanager")
    fired, expected = INCIDENTS[incident]
    (tmp_path / "alertmanager.yaml").write_bytes((SHIPPED / "alertmanager.yaml").read_bytes())
    port = free_port()
    async with serve("alertmanager", tmp_path, port):
        url = f"http://127.0.0.1:{port}/api/v2/alerts"
        body = [{"labels": {"alertname": name, "severity": SEVERITY[name], **labels}} for name, labels in fired]
        await asyncio.to_thread(ask, url, body)
        shown = await reported(url)
        async with asyncio.timeout(30):
            while shown != expected:  # it takes in alerts beside its answers, one by one
                await asyncio.sleep(0.1)
                shown = await reported(url)
    assert shown == expected


async def reported(url: str) -> set[str]:
    """The alerts that no other one inhibits, with their experiments."""
    listed = await asyncio.to_thread(ask, f"{url}?active=true&inhibited=false&silenced=false")
    return {" ".join(filter(None, (each["labels"]["alertname"], each["labels"].get("experiment")))) for each in listed}


def ask(url: str, body: Any = None) -> Any:
    """POST the body, or GET."""
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
    return json.loads(text) if text else None
