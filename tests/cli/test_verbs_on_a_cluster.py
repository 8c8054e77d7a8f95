"""The verbs against a real API server: both streams and the exit status."""

import getpass
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import yaml
from aiohttp import web

from muster.api.values.timestamps import micro_time
from muster.cli.options import experiment_names
from muster.local.apiserver.http.request_handler import RequestHandler
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import MANIFEST, LocalServer, ended, labels, running, waiting

ROLL = {"expected": 2, "arrived": 1, "missing": [1]}


def soon(work: Callable[[], object], seconds: float = 0.3) -> None:
    """Do something while a command waits."""

    def run() -> None:
        time.sleep(seconds)
        work()

    threading.Thread(target=run, daemon=True).start()


def test_submit_prints_the_name_and_the_next_command(call: Call, server: LocalServer, manifest: Path) -> None:
    result = call("submit", manifest)
    assert result.stdout.startswith("train-")
    assert f"next: muster get {result.stdout.strip()} -w" in result.stderr
    named = call("submit", manifest, "--kubeconfig", server.kubeconfig, "-n", "default")
    assert f" --kubeconfig {server.kubeconfig} -w" in named.stderr
    assert "namespace" not in call("submit", manifest, "--dry-run").stdout, "that of the context, as of a submission"
    assert "namespace: a\n" in call("submit", manifest, "--dry-run", "-n", "a").stdout
    assert call("submit", manifest, "--name", "x", "-o", "json").stdout.startswith("{")
    assert "choose another with --name" in stderr_of(call, 1, "submit", manifest, "--name", "x")


def test_submit_and_wait_exits_with_the_outcome(call: Call, server: LocalServer, manifest: Path) -> None:
    soon(lambda: server.status("x", phase="Failed", reason="DeadlineExceeded", message="too slow"), 1.0)
    result = call("submit", manifest, "--name", "x", "--wait")
    assert (result.exit_code, result.stdout) == (3, "x\n")
    assert "Failed: too slow" in result.stderr


def test_get_prints_a_table_and_wide_adds_columns(call: Call, server: LocalServer, mine: str) -> None:
    server.status(
        mine, phase="Assembling", reason="AwaitingRanks", message="1/2 ranks\n\x1b[31marrived", ready="1/2", restarts=1
    )
    heading, row = call("get").stdout.splitlines()
    assert heading.split() == ["NAME", "PHASE", "REASON", "READY", "RESTARTS", "DEADLINE", "AGE", "MESSAGE"]
    assert row.split()[:6] == ["mine", "Assembling", "AwaitingRanks", "1/2", "1", "-"]
    assert row.endswith("1/2 ranks \ufffd[31marrived"), "a message must not drive the terminal"
    assert call("get", "-A").stdout.splitlines()[1].startswith("default ")
    assert call("get", "-o", "name").stdout == "mine\n"
    assert [item["kind"] for item in json.loads(call("get", "-o", "json").stdout)["items"]] == ["Experiment"]
    assert yaml.safe_load(call("get", mine, "-o", "yaml").stdout)["metadata"]["name"] == "mine"
    heading, row = call("get", "-o", "wide").stdout.splitlines()
    assert heading.split()[-5:] == ["OPERATOR", "ACCELERATORS", "EPOCH", "STEP", "MESSAGE"]
    assert "jax" in row
    assert call("get", mine, "-o", "wide").stdout.startswith("default/mine  Assembling")
    empty = call("get", "-n", "kube-system")
    assert (empty.exit_code, empty.stdout) == (0, "")


def test_get_name_prints_a_tree(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Assembling", message="1/2 ranks arrived; missing rank 1", ready="1/2", roll=ROLL)
    server.pod("mine-worker-0-0-x", labels(mine, 0), **running())
    server.pod("mine-worker-1-0-x", labels(mine, 1), phase="Pending")
    head, why, group, *members = call("get", mine).stdout.splitlines()
    assert head.startswith("default/mine  Assembling  jax, epoch 0, 1/2 arrived")
    assert why == "│ 1/2 ranks arrived; missing rank 1"
    assert group == "└── worker  1/2 ready"
    assert members == [
        "    ├──   0  mine-worker-0-0-x  Running  on local",
        "    └──   1  mine-worker-1-0-x  Pending  missing from the roll  on local",
    ]
    for words in (("get", "nobody"), ("get", "nobody", "-w")):
        assert "default/nobody does not exist" in stderr_of(call, 1, *words)


def test_explain_prints_cause_history_and_conditions(call: Call, server: LocalServer, mine: str) -> None:
    cause = {"epoch": 0, "pod": "mine-worker-1-0-x", "rank": 1, "node": "a", "exitCode": 137, "signal": 9}
    story = [{"time": "2026-01-01T00:00:00Z", "epoch": 0, "reason": "Started", "message": "starting 2 members"}]
    known = [{"type": "Stuck", "status": "False", "reason": "NotStuck"}]
    server.status(mine, phase="Running", message="2/2 arrived", epoch=1, cause=cause, story=story, conditions=known)
    shown = call("explain", mine).stdout
    assert "Epoch 0 ended because rank 1 (mine-worker-1-0-x) ended with exit code 137 (SIGKILL) on node a" in shown
    assert "epoch 0  Started: starting 2 members" in shown
    assert "Stuck False  (NotStuck)" in shown
    document = json.loads(call("explain", mine, "-o", "json").stdout)
    assert (document["waitsFor"], document["status"]["epoch"], document["members"]) == ("", 1, [])


def test_explain_names_what_keeps_each_member_with_evidence_and_the_next_step(
    call: Call, server: LocalServer, mine: str
) -> None:
    server.status(mine, phase="Assembling", conditions=[{"type": "CoordinatorReady", "status": "True"}], roll=ROLL)
    server.pod("mine-worker-0-0-x", labels(mine, 0), **running())
    pulling = waiting("ImagePullBackOff", 'Back-off pulling image "registry/x:1"')
    server.pod("mine-worker-0-1-x", labels(mine, 1), **pulling)
    shown = call("explain", mine).stdout
    assert "rank 1: the image registry/x:1 cannot be pulled  (ImagePull)" in shown
    assert "seen: pod mine-worker-0-1-x on node local: Pending: ImagePullBackOff" in shown
    assert "next: check the name and tag of the image" in shown
    (found,) = json.loads(call("explain", mine, "-o", "json").stdout)["findings"]
    assert (found["cause"], found["ranks"], found["group"]) == ("ImagePull", [1], "worker")


@pytest.mark.parametrize("verb", ["get", "explain"])
def test_the_line_of_a_frozen_rank_says_so(call: Call, server: LocalServer, mine: str, verb: str) -> None:
    for rank in (0, 1):
        server.pod(f"pod-{rank}", labels(mine, rank), **running())
    said = "the coordinator stopped responding: its port accepts connections but sends no answer"
    stuck = {"type": "Stuck", "status": "True", "reason": "CoordinatorUnreachable", "message": said}
    known = {"cause": "CoordinatorFrozen", "evidence": said, "ranks": "0", "time": "2026-01-01T00:00:00Z"}
    server.status(mine, phase="Running", size=2, conditions=[stuck], stuck=known)
    first, second = [line for line in call(verb, mine).stdout.splitlines() if "── " in line and "pod-" in line]
    assert "pod-0  Running  the coordinator's process is frozen" in first
    assert "frozen" not in second
    server.status(mine, phase="Running", size=2, conditions=[{**stuck, "status": "False"}])
    assert "frozen" not in call(verb, mine).stdout


def test_logs_of_all_ranks_and_of_one(call: Call, server: LocalServer, mine: str) -> None:
    for rank in (0, 1):
        server.pod(f"pod-{rank}", labels(mine, rank), prints=("one", "two"), **ended(0))
    assert call("logs", mine).stdout == "rank 0 | one\nrank 1 | one\nrank 0 | two\nrank 1 | two\n"
    assert call("logs", mine, "--rank", 1, "--tail", 1).stdout == "two\n"
    assert call("logs", mine, "--rank", 7).exit_code == 1
    nothing = call("logs", mine, "--since", "1s")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (0, "", "no line was logged in that time\n")
    server.status(mine, phase="Succeeded")
    followed = sorted(call("logs", mine, "-f").stdout.splitlines())
    assert followed == ["rank 0 | one", "rank 0 | two", "rank 1 | one", "rank 1 | two"]


def test_wait_exits_with_what_it_waited_for(call: Call, server: LocalServer, mine: str) -> None:
    slow = call("wait", mine, "--timeout", "0")
    assert (slow.exit_code, slow.stdout) == (3, "")
    soon(lambda: server.status(mine, phase="Running", conditions=[{"type": "Assembled", "status": "True"}]))
    came = call("wait", mine, "--for", "condition=assembled", "--timeout", "1m")
    assert (came.exit_code, came.stdout) == (0, "mine Running\n")
    assert call("wait", mine, "--for", "Running", "--timeout", "30").exit_code == 0
    soon(lambda: server.status(mine, phase="Failed", reason="BackoffLimitExceeded", message="no"))
    for phase in ("Restarting", "phase=running"):
        assert call("wait", mine, "--for", phase).exit_code == 1, "it can no longer come"
    assert call("wait", mine).exit_code == 1
    assert json.loads(call("wait", mine, "-o", "json").stdout)["status"]["phase"] == "Failed"


def test_waiting_for_a_deletion_exits_with_0_when_there_is_nothing_left(
    call: Call, server: LocalServer, mine: str
) -> None:
    soon(lambda: server.drop("muster.dev/v1alpha1", "experiments", "default", mine))
    gone = call("wait", mine, "--for=delete", "--timeout", "1m")
    assert (gone.exit_code, gone.stdout) == (0, "mine deleted\n")
    assert "mine does not exist" in stderr_of(call, 0, "wait", mine, "--for=delete")
    assert call("wait", mine).exit_code == 1
    assert call("wait", mine, "--for=Assembled").exit_code == 1


def test_cancel_sets_spec_cancel(call: Call, server: LocalServer, mine: str) -> None:
    result = call("cancel", mine)
    assert (result.exit_code, result.stdout) == (0, "mine\n")
    assert json.loads(call("get", mine, "-o", "json").stdout)["spec"]["cancel"] is True
    server.status(mine, phase="Failed", reason="Cancelled")
    assert "has finished already" in call("cancel", mine).stderr


def test_cancel_says_who_asked_and_writes_as_the_client(
    call: Call, server: LocalServer, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents: set[str] = set()
    route = RequestHandler._route  # noqa: SLF001 - what every request passes

    async def seen(self: RequestHandler, request: web.BaseRequest) -> web.StreamResponse:
        agents.add(request.headers["User-Agent"])
        return await route(self, request)

    monkeypatch.setattr(RequestHandler, "_route", seen)
    call("cancel", mine)
    metadata = json.loads(call("get", mine, "-o", "json").stdout)["metadata"]
    assert f"{getpass.getuser()}@{socket.gethostname()} at " in metadata["annotations"]["muster.dev/cancelled"]
    assert {agent.partition("/")[0] for agent in agents} == {"muster-client"}


def test_restart_asks_for_a_restart_of_the_gang(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Running")
    result = call("restart", mine)
    assert (result.exit_code, result.stdout) == (0, "mine\n")
    assert "epoch 1 begins when its pods have ended" in result.stderr
    for phase, words in (
        ("Restarting", "mine restarts already: epoch 3 begins when its pods have ended"),
        ("Queued", "mine is queued: there is nothing to restart"),
    ):
        server.status(mine, phase=phase, epoch=3)
        assert words in call("restart", mine).stderr
    metadata = json.loads(call("get", mine, "-o", "json").stdout)["metadata"]
    assert f"{getpass.getuser()}@{socket.gethostname()} at " in metadata["annotations"]["muster.dev/restart"]


def test_what_has_ended_is_submitted_again_under_a_new_name(call: Call, server: LocalServer, mine: str) -> None:
    call("cancel", mine)
    server.status(mine, phase="Failed", reason="Cancelled")
    assert "muster restart mine --rerun submits it again" in stderr_of(call, 1, "restart", mine)
    named = ("-n", "default", "--kubeconfig", server.kubeconfig)
    again_there = f"muster restart mine --kubeconfig {server.kubeconfig} -n default --rerun"
    assert again_there in stderr_of(call, 1, "restart", mine, *named)
    new = call("restart", mine, "--rerun").stdout.strip()
    assert new.startswith("mine-")
    old, again = (json.loads(call("get", name, "-o", "json").stdout) for name in (mine, new))
    assert old["spec"] == again["spec"] | {"cancel": True}
    assert "muster.dev/cancelled" not in again["metadata"].get("annotations", {})
    third = call("restart", new, "--rerun").stdout.strip()
    assert len(third) == len(new), "five characters take the place of five"


def test_what_has_ended_is_not_called_ready(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Failed", reason="Cancelled", ready="2/2")
    assert "ready" not in call("get", mine).stdout
    assert call("get").stdout.splitlines()[1].split()[3] == "-"


FOLLOWED = ["get mine", "restart mine", "restart mine --rerun", "cancel mine", "cancel mine -o json", "submit FILE"]


@pytest.mark.parametrize("line", [*FOLLOWED, "wait mine --timeout 0"])
def test_a_request_that_no_musterd_follows_has_a_warning(
    call: Call, server: LocalServer, mine: str, manifest: Path, line: str
) -> None:
    words = [str(manifest) if word == "FILE" else word for word in line.split()]
    server.status(mine, phase="Running")
    before = call(*words)
    assert "looks after" not in before.stderr
    server.lease("2026-01-01T00:00:00.000000Z")
    shown = call(*words)
    assert shown.stderr.count("no musterd with the Lease default/musterd looks after it: that was renewed last") == 1
    assert shown.exit_code == before.exit_code
    server.lease(micro_time(time.time()))
    assert "looks after" not in call(*words).stderr


def test_what_needs_no_musterd_has_no_warning_without_one(call: Call, server: LocalServer, mine: str) -> None:
    server.lease("2026-01-01T00:00:00.000000Z")
    server.status(mine, phase="Running")
    assert "looks after" not in call("wait", mine, "--for", "Running").stderr
    assert "looks after" not in call("wait", mine, "--for", "delete", "--timeout", "0").stderr
    server.status(mine, phase="Succeeded")
    for line in ("get", "wait", "cancel"):
        assert "looks after" not in call(line, mine).stderr


def test_a_tab_completes_the_names_of_experiments(
    call: Call, server: LocalServer, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = click.Context(click.Command("get"))
    assert [each.value for each in experiment_names(context, click.Argument(["name"]), "mi")] == [mine]
    assert experiment_names(context, click.Argument(["name"]), "x") == []
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    assert experiment_names(context, click.Argument(["name"]), "mi") == []


IMPORTED_MEANWHILE = """
import asyncio, sys
import click
from muster.cli.options import experiment_names

bounded, before = asyncio.timeout, set()

def timeout(seconds):
    before.update(sys.modules)
    return bounded(seconds)

asyncio.timeout = timeout
names = experiment_names(click.Context(click.Command("get")), click.Argument(["name"]), "mi")
late = [each for each in set(sys.modules) - before if each.partition(".")[0] in ("muster", "aiohttp", "yaml", "ssl")]
print(bool(before), [each.value for each in names], late)
"""


def test_the_time_that_a_tab_waits_for_the_cluster_is_not_spent_on_imports(server: LocalServer, mine: str) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED_MEANWHILE], capture_output=True, text=True, check=True)
    assert done.stdout == f"True ['{mine}'] []\n"


def test_get_shows_the_address_that_a_debug_server_has_printed(call: Call, server: LocalServer) -> None:
    call("submit", "-", "--name", "mine", input=f"{MANIFEST.rstrip()}\n  debug: {{vscode: {{enabled: true}}}}\n")
    server.status("mine", phase="Running")
    printed = ("   http://127.0.0.1:8888/lab?token=0f8fad5bd9cb",)
    server.pod("pod-0", labels("mine", 0), prints=printed, **running())
    assert "debug server of rank 0: http://127.0.0.1:8888/lab?token=0f8fad5bd9cb\n" in call("get", "mine").stdout
