"""Debug modes: a server takes the place of the command, for 12 hours at most, and says where it is."""

import subprocess
from dataclasses import replace
from typing import Any

import pytest

from muster.kinds.experiments import LONGEST, NO_PROGRAM
from muster.reconcilers.render.pod import render_pod
from muster.state.decide.machine import decide
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, sure, view
from tests.kinds.test_operators import SMALL, planned

RAY = {"Head": {"resources": SMALL}, "Workers": [{"name": "w", "count": 1, "resources": SMALL}]}


def vscode(**spec: Any) -> Plan:
    return planned("jax", {"worker": {"count": 2, "resources": SMALL}}, debug={"vscode": {"enabled": True}}, **spec)


def jupyter(**spec: Any) -> Plan:
    return planned("kuberay", RAY, debug={"jupyter": {"enabled": True}}, **spec)


def total(run: Plan) -> float:
    clock = sure(run.clock(ClockName.TOTAL))
    assert clock.action is ClockAction.FAIL
    return clock.after


def test_a_tunnel_takes_the_place_of_the_command_in_each_member() -> None:
    run = vscode()
    (group,) = run.groups
    assert "python train.py" not in group.pod.command
    assert (
        "code tunnel user login --provider github && exec code tunnel --accept-server-license-terms"
        in group.pod.command
    )
    assert sure(run.coordinator).probe is ProbeKind.NONE


def test_a_jupyter_server_is_the_job_that_the_submitter_submits() -> None:
    run = jupyter()
    submitter = run.groups[-1]
    assert "exec jupyter server --ip=0.0.0.0 --port=8888 --no-browser" in submitter.pod.argv[-1]
    assert sure(run.coordinator).probe is not ProbeKind.NONE


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [({}, LONGEST), ({"timeout": "1h"}, 3_600), ({"timeout": "2d"}, LONGEST), ({"activeDeadlineSeconds": 60}, 60)],
)
def test_it_runs_for_12_hours_at_most_and_is_not_restarted(spec: dict[str, Any], seconds: float) -> None:
    for run in (vscode(**spec), jupyter(**spec)):
        assert (total(run), run.restarts.limit) == (seconds, 0)


@pytest.mark.parametrize("debug", [None, {}, {"vscode": {"enabled": False}}])
def test_without_a_server_nothing_changes(debug: Any) -> None:
    run = planned(debug=debug) if debug is not None else planned()
    assert (run.notice, run.groups, run.restarts.limit) == ("", planned().groups, planned().restarts.limit)


def test_the_status_says_where_the_server_is_and_who_has_its_token() -> None:
    run = jupyter()
    message = decide(run, None, view(), NOW).record.message
    head = run.pod_name(run.groups[0].member(0), 0)
    assert f"on port 8888 of {head} ({run.coordinator_host(0)})" in message
    assert "`muster logs run -n team` has its address with the token" in message
    assert "VS Code tunnel takes the place of the command" in decide(vscode(), None, view(), NOW).record.message
    assert "muster logs" not in decide(replace(run, notice=""), None, view(), NOW).record.message


def test_the_log_that_holds_the_token_is_not_quoted_in_the_status_of_a_pod() -> None:
    for run in (vscode(), jupyter()):
        for member in run.members():
            (container,) = render_pod(run, member, 0)["spec"]["containers"]
            assert container["terminationMessagePolicy"] == "File"


@pytest.mark.parametrize("path", ["no-such-program", "/opt/my tools/no-such-program"])
def test_an_image_without_the_program_says_so_in_its_last_words(path: str) -> None:
    run = planned(debug={"vscode": {"enabled": True, "path": path}})
    ran = subprocess.run(["/bin/sh", "-c", run.groups[0].pod.command], capture_output=True, text=True, check=False)
    assert ran.returncode == NO_PROGRAM
    assert ran.stderr.strip() == (
        f"spec.debug.vscode: the image has no program {path}; install it there, or write its place as path"
    )


def test_the_program_that_is_there_is_run() -> None:
    run = planned(debug={"vscode": {"enabled": True, "path": "echo", "provider": "microsoft"}})
    environment = {"MUSTER_EXPERIMENT_UID": "0f8fad5b-d9cb", "MUSTER_RANK": "3", "PATH": "/usr/bin:/bin"}
    command = ["/bin/sh", "-c", run.groups[0].pod.command]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.splitlines() == [
        "tunnel user login --provider microsoft",
        "tunnel --accept-server-license-terms --name m-0f8fad5b-3",
    ]
