"""What the libraries of Flux and Argo CD say of an Experiment.

kstatus and the evaluation of a Kustomization's expressions, and gitops-engine with the interpreter of its Lua.
"""

import json
import subprocess
from typing import Any

import pytest

from muster.api.status import Phase
from tests.deploy.test_gitops import FLUX as EXPRESSIONS
from tests.deploy.test_gitops import HEALTH, MOVES, STUCK, status
from tests.deploy.test_gitops import argo as computed
from tests.deploy.test_gitops import flux as evaluated
from tests.tools.go_tool import ARGO, FLUX, GoTool

pytestmark = pytest.mark.slow

NAMES = {"Current": "current", "Failed": "failed", "InProgress": "inProgress"}


def experiment(found: dict[str, Any], generation: int = 2) -> dict[str, Any]:
    metadata = {"name": "run", "namespace": "team", "generation": generation}
    body = {"observedGeneration": 2, **found} if found else {}
    return {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "metadata": metadata, "status": body}


def said(*objects: dict[str, Any]) -> list[dict[str, str]]:
    """What Flux says of each object."""
    expressions = {name: text for name, text in EXPRESSIONS.items() if name in NAMES.values()}
    return answers_of(FLUX, {"expressions": expressions, "objects": objects})


def argo(*objects: dict[str, Any]) -> list[tuple[str, str]]:
    """What Argo CD says of each object: health and message."""
    return [(each["status"], each["message"]) for each in answers_of(ARGO, {"script": HEALTH, "objects": objects})]


def answers_of(tool: GoTool, given: dict[str, Any]) -> list[dict[str, str]]:
    done = subprocess.run([tool.needed()], input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: list[dict[str, str]] = json.loads(done.stdout)
    return answer


def test_flux_says_of_each_phase_stuck_or_not_what_the_page_says() -> None:
    every = [status(phase, condition) for phase in Phase for condition in (MOVES, STUCK)]
    answers = said(*map(experiment, every))
    assert len(answers) == 2 * len(Phase)
    assert [NAMES[each["expressions"]] for each in answers] == [evaluated(each) for each in every]


def test_a_status_without_a_phase_or_without_conditions_is_no_error() -> None:
    empty, pending, running = said(experiment({}), experiment({"phase": "Pending"}), experiment({"phase": "Running"}))
    assert (empty["expressions"], pending["expressions"]) == ("InProgress", "InProgress")
    assert running["expressions"] == "Current"


def test_argo_says_of_each_phase_stuck_or_not_what_the_script_does() -> None:
    every = [status(phase, condition) for phase in Phase for condition in (MOVES, STUCK)]
    assert argo(*map(experiment, every)) == [computed(each) for each in every]
