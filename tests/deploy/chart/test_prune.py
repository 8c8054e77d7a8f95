"""`muster prune` as a CronJob: off by default; its pod is restricted and is none of musterd's."""

from typing import Any

import click
import pytest

from muster.cli.commands.deleting import prune
from tests.deploy.chart.conftest import Rendered, is_restricted, one
from tests.deploy.chart.matrix import MATRIX

pytestmark = pytest.mark.slow

CASES = {name: case for name, case in MATRIX.items() if "CronJob" in case.expect}


@pytest.fixture(params=CASES)
def template(request: pytest.FixtureRequest, rendered: Rendered) -> dict[str, Any]:
    found: dict[str, Any] = one(rendered(*CASES[request.param].options()), "CronJob")["spec"]["jobTemplate"]["spec"]
    pod: dict[str, Any] = found["template"]
    return pod


def test_its_command_is_one_that_muster_prune_reads(template: dict[str, Any]) -> None:
    (container,) = template["spec"]["containers"]
    assert container["command"] == ["muster", "prune"]
    with prune.make_context("prune", list(container["args"])) as context:
        assert isinstance(context, click.Context)
        assert (context.params["yes"], context.params["dry_run"], context.params["output"]) == (True, False, "name")
        assert context.params["older_than"] in (17 * 86_400, 30 * 86_400)
        assert context.params["everywhere"] is ("--all-namespaces" in container["args"])


def test_its_pod_satisfies_the_restricted_profile(template: dict[str, Any]) -> None:
    assert is_restricted(template["spec"])
    assert template["spec"]["serviceAccountName"] == "musterd-prune"


def test_it_is_selected_as_none_of_musterds_pods(template: dict[str, Any], rendered: Rendered) -> None:
    selector = one(rendered(), "Deployment")["spec"]["selector"]["matchLabels"]
    assert not selector.items() <= template["metadata"]["labels"].items()


@pytest.mark.parametrize("value", ["prune.olderThan=30", "prune.olderThan=", "prune.phases[0]=Running"])
def test_a_time_or_phase_that_prune_does_not_know_is_refused(rendered: Rendered, value: str) -> None:
    with pytest.raises(Exception, match="prune"):
        rendered("--set-string", f"{value}", "--set", "prune.enabled=true")
