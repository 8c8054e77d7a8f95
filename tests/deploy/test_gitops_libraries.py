"""What Flux's own libraries (kstatus, and the evaluation of a Kustomization's expressions) say of an Experiment."""

import json
import subprocess
from typing import Any

import pytest

from muster.api.status import Phase
from tests.deploy.test_gitops import FLUX as EXPRESSIONS
from tests.deploy.test_gitops import MOVES, STUCK, status
from tests.deploy.test_gitops import flux as evaluated
from tests.tools.flux import FLUX
from tests.tools.go_tool import CannotBuild

pytestmark = pytest.mark.timeout(1200)  # the program is built once
NAMES = {"Current": "current", "Failed": "failed", "InProgress": "inProgress"}


def experiment(found: dict[str, Any], generation: int = 2) -> dict[str, Any]:
    metadata = {"name": "run", "namespace": "team", "generation": generation}
    body = {"observedGeneration": 2, **found} if found else {}
    return {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "metadata": metadata, "status": body}


def said(*objects: dict[str, Any]) -> list[dict[str, str]]:
    """What the program prints of each object."""
    try:
        program = FLUX.path()
    except CannotBuild as missing:
        pytest.skip(str(missing))
    expressions = {name: text for name, text in EXPRESSIONS.items() if name in NAMES.values()}
    given = json.dumps({"expressions": expressions, "objects": objects})
    done = subprocess.run([program], input=given, capture_output=True, text=True, check=False)
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


def test_without_expressions_kstatus_calls_each_experiment_current_once_its_generation_was_seen() -> None:
    answers = said(*(experiment(status(phase, STUCK)) for phase in Phase))
    assert {each["kstatus"] for each in answers} == {"Current"}
    (edited,) = said(experiment(status(Phase.RUNNING), generation=3))
    assert (edited["expressions"], edited["kstatus"]) == ("InProgress", "InProgress")
