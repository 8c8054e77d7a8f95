"""What Argo CD and Flux are given to say of an Experiment, evaluated on experiments of each phase."""

from typing import Any

import celpy
import pytest
import yaml
from celpy.adapter import json_to_cel
from lupa import LuaRuntime

from deploy.helm.copies import ROOT
from muster.api.status import Phase

HEALTH = (ROOT / "deploy/argocd/health.lua").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/chart.md").read_text(encoding="utf-8")
(FLUX,) = yaml.safe_load("healthCheckExprs:" + PAGE.partition("healthCheckExprs:")[2].partition("```")[0])[
    "healthCheckExprs"
]
STUCK = {"type": "Stuck", "status": "True", "reason": "RanksMissing", "message": "3/4 ranks arrived; missing rank 2"}
MOVES = {**STUCK, "status": "False"}

ARGO = {Phase.RUNNING: "Healthy", Phase.SUCCEEDED: "Healthy", Phase.FAILED: "Degraded", Phase.SUSPENDED: "Suspended"}


def status(phase: str, *conditions: dict[str, str]) -> dict[str, Any]:
    return {"phase": phase, "message": "the sentence", "conditions": list(conditions)}


def argo(found: dict[str, Any] | None) -> tuple[str, str]:
    runtime = LuaRuntime()
    health = runtime.execute(f"return function(obj)\n{HEALTH}\nend")
    answer = health(runtime.table_from({"status": found} if found else {}, recursive=True))
    return answer["status"], answer["message"]


def flux(found: dict[str, Any]) -> str:
    """The first expression in Flux's own order that holds; where none does, it is in progress."""
    environment = celpy.Environment()
    said = {"status": json_to_cel(found)}
    for name in ("inProgress", "failed", "current"):
        if name in FLUX and environment.program(environment.compile(FLUX[name])).evaluate(said):
            return name
    return "inProgress"


@pytest.mark.parametrize("phase", Phase)
def test_each_phase_has_one_health(phase: Phase) -> None:
    found = status(phase, MOVES)
    assert argo(found) == (ARGO.get(phase, "Progressing"), "the sentence")
    expected = {"Healthy": "current", "Suspended": "current", "Degraded": "failed", "Progressing": "inProgress"}
    assert flux(found) == expected[ARGO.get(phase, "Progressing")]


@pytest.mark.parametrize("phase", [Phase.ASSEMBLING, Phase.RUNNING])
def test_a_stuck_experiment_is_degraded_and_says_what_it_waits_for(phase: Phase) -> None:
    found = status(phase, STUCK)
    assert argo(found) == ("Degraded", "RanksMissing: 3/4 ranks arrived; missing rank 2")
    assert flux(found) == "failed"


def test_an_experiment_without_a_status_is_progressing() -> None:
    assert argo(None) == ("Progressing", "musterd has not seen it yet")
