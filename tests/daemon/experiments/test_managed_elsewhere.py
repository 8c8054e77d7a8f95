"""An Experiment whose ``spec.managedBy`` names another manager: Muster leaves it alone and shows its status."""

import asyncio
from typing import Any

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.problems import SpecError
from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import RUN, Cluster, experiment, scraped, seen_by, virtually

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
COPIED = {"phase": "Running", "epoch": 2, "message": "step 40 of the run", "readiness": "4/4", "stranger": 1}


def writes(cluster: Cluster) -> list[str]:
    return [f"{each.method} {each.path}" for each in cluster.api.requests if each.method != "GET"]


@virtually
async def test_nothing_is_written_and_the_copied_status_is_shown(cluster: Cluster, daemon: Daemon) -> None:
    cluster.api.put(RUN, experiment(managedBy=MULTIKUEUE))
    await asyncio.sleep(120)
    assert writes(cluster) == []
    for phase in ("Running", "Failed"):
        cluster.api.put(RUN, {**cluster.api.objects[RUN], "status": {**COPIED, "phase": phase}})
        await asyncio.sleep(120)
        shown = seen_by(daemon)
        assert (shown.record.phase, shown.record.epoch, shown.plan.operator) == (phase, 2, "jobset")
        assert shown.record.message == f"managed by {MULTIKUEUE}, whose status this is: step 40 of the run"
        assert [each.plan.name for each in daemon.subjects()] == ["run"]
    assert writes(cluster) == []
    assert cluster.api.objects[RUN]["status"]["stranger"] == 1
    assert 'experiment="run"' not in scraped(daemon)
    cluster.api.remove(RUN)
    await asyncio.sleep(3)
    assert daemon.find("team", "run") is None
    assert writes(cluster) == []


@virtually
async def test_an_experiment_of_muster_is_run(cluster: Cluster, daemon: Daemon) -> None:
    cluster.api.put(RUN, experiment(managedBy="muster.dev/muster"))
    await asyncio.sleep(3)
    assert len(cluster.api.named("pods")) == 4


@pytest.mark.parametrize("manager", [7, "", "multikueue", "a/b/c", "x" * 60 + "/abc"])
def test_a_manager_without_a_domain_is_refused(manager: Any) -> None:
    with pytest.raises(SpecError, match="managedBy"):
        parse_experiment(experiment(managedBy=manager))
