"""``muster delete`` and ``muster prune``: what goes, what stays, and what is asked first."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import click
import pytest

from muster.api.errors import Forbidden
from muster.api.names import API_VERSION
from muster.api.values.timestamps import whole_time
from muster.cli.commands.deleting import delete_all, old_ones
from muster.client import Client
from muster.client.snapshot import snapshot_of
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import LocalServer

Submit = Callable[..., None]
DAY = 86_400.0


@pytest.fixture
def submit(call: Call, server: LocalServer, manifest: Path) -> Submit:
    """Submit experiments; with ``ended`` they finished that many days ago."""

    def run(*names: str, ended: float | None = None, phase: str = "Succeeded", namespace: str = "default") -> None:
        for name in names:
            assert call("submit", manifest, "--name", name, "-n", namespace).exit_code == 0
            if ended is not None:
                server.status(name, namespace, phase=phase, finishTime=whole_time(time.time() - ended * DAY))

    return run


def listed(call: Call, *words: str) -> list[str]:
    return str(call("list", "-o", "name", *words).stdout).split()


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.cli.commands.deleting._asks", lambda: True)


def test_without_a_terminal_and_without_yes_nothing_is_deleted(call: Call, submit: Submit) -> None:
    submit("one", ended=30.0)
    for words in (("delete", "one"), ("prune", "--older-than", "1d")):
        assert "--yes" in stderr_of(call, 2, *words, input="y\n")
    assert listed(call) == ["one"]


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, []), ("n\n", 1, ["one"]), ("\n", 1, ["one"])])
def test_on_a_terminal_the_answer_decides(
    call: Call, submit: Submit, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: list[str]
) -> None:
    submit("one")
    on_a_terminal(monkeypatch)
    result = call("delete", "one", input=answer)
    assert result.exit_code == code
    assert "Delete default/one (Submitted" in result.stderr
    assert listed(call) == left


@pytest.mark.parametrize("words", [("delete", "one"), ("prune", "--older-than", "1d")], ids=" ".join)
def test_the_first_ctrl_c_at_the_question_ends_the_command(
    call: Call, submit: Submit, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    went_on = []

    def asked(_question: str, **_: object) -> bool:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise click.Abort from None  # as click.confirm does
        went_on.append("the signal was not noticed")
        return False

    submit("one", ended=30.0)
    on_a_terminal(monkeypatch)
    monkeypatch.setattr("muster.cli.commands.deleting.click.confirm", asked)
    result = call(*words)
    assert (result.exit_code, went_on) == (1, [])
    assert "nothing was deleted" in result.stderr
    assert listed(call) == ["one"]


def test_a_reader_that_goes_away_ends_a_deletion_as_it_ends_other_output(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deleting:
        async def delete(self, *_: object, **__: object) -> None:
            return None

    def closed(_text: str) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("muster.cli.commands.deleting.data", closed)
    found = [snapshot_of({"metadata": {"name": name, "namespace": "n"}}) for name in ("one", "two")]
    with pytest.raises(BrokenPipeError):  # and no group of errors, which the command does not expect
        asyncio.run(delete_all(cast("Client", Deleting()), found, "", yes=True, dry_run=False, output=None))


def test_a_dry_run_deletes_nothing_and_asks_nothing(call: Call, submit: Submit) -> None:
    submit("one", ended=30.0)
    for words in (("delete", "one"), ("prune", "--older-than", "1d")):
        result = call(*words, "--dry-run")
        assert (result.exit_code, result.stdout) == (0, "one\n")
        assert "nothing was deleted: this was a dry run" in result.stderr
    assert listed(call) == ["one"]


def test_a_name_that_does_not_exist_fails_and_the_others_are_deleted(call: Call, submit: Submit) -> None:
    submit("one", "two", "three")
    result = call("delete", "nobody", "one", "two", "--yes")
    assert (result.exit_code, sorted(result.stdout.split())) == (1, ["one", "two"])
    assert "default/nobody does not exist" in result.stderr
    assert listed(call) == ["three"]


@pytest.mark.parametrize("words", [("delete", "one"), ("prune", "--older-than", "1d")], ids=" ".join)
def test_an_experiment_created_anew_after_the_question_is_not_deleted(
    call: Call, submit: Submit, server: LocalServer, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    submit("one", ended=30.0)
    spec = json.loads(call("get", "one", "-o", "json").stdout)["spec"]

    def meanwhile(_question: str) -> bool:
        server.drop(API_VERSION, "experiments", "default", "one")
        anew = {"apiVersion": API_VERSION, "kind": "Experiment", "metadata": {"name": "one"}, "spec": spec}
        server.put(API_VERSION, "experiments", "default", anew)
        return True

    on_a_terminal(monkeypatch)
    monkeypatch.setattr("muster.cli.commands.deleting._confirmed", meanwhile)
    assert "another experiment of that name has been created since" in stderr_of(call, 1, *words)
    assert listed(call) == ["one"]


def test_prune_deletes_only_what_ended_long_ago(call: Call, submit: Submit, server: LocalServer) -> None:
    submit("old", ended=10.0)
    submit("failed", ended=10.0, phase="Failed")
    submit("young", ended=1.0)
    submit("waiting")
    submit("elsewhere", ended=10.0, namespace="kube-system")
    server.status("waiting", phase="Running", startTime="2020-01-01T00:00:00Z")
    result = call("prune", "--older-than", "7d", "--phase", "failed", "--yes")
    assert (result.exit_code, result.stdout) == (0, "failed\n")
    result = call("prune", "--older-than", "1w", "--yes")
    assert (result.exit_code, result.stdout) == (0, "old\n")
    assert sorted(listed(call, "-A")) == ["elsewhere", "waiting", "young"]
    everywhere = call("prune", "--older-than", "7d", "-A", "--yes", "-o", "json")
    assert [(e["namespace"], e["name"], e["deleted"]) for e in json.loads(everywhere.stdout)["experiments"]] == [
        ("kube-system", "elsewhere", True)
    ]
    assert "no experiment ended so long ago" in stderr_of(call, 0, "prune", "--older-than", "7d", "--yes")


def test_an_experiment_without_a_believable_end_is_not_old() -> None:
    def ended(name: str, **status: object) -> object:
        return snapshot_of({"metadata": {"name": name, "namespace": "n"}, "status": status})

    every = [
        ended("never", phase="Running", finishTime="2020-01-01T00:00:00Z"),
        ended("unknown", phase="Failed"),
        ended("broken", phase="Failed", finishTime="yesterday"),
        ended("future", phase="Failed", finishTime="2990-01-01T00:00:00Z"),
        ended("second", phase="Succeeded", finishTime="2021-01-01T00:00:00Z"),
        ended("first", phase="Failed", finishTime="2020-01-01T00:00:00Z"),
    ]
    assert [seen.name for seen in old_ones(every, time.time(), ())] == ["first", "second"]  # type: ignore[arg-type]


def test_what_another_manager_runs_is_not_pruned() -> None:
    ended = {"phase": "Succeeded", "finishTime": "2020-01-01T00:00:00Z"}
    spec = {"managedBy": "kueue.x-k8s.io/multikueue"}
    seen = snapshot_of({"metadata": {"name": "theirs", "namespace": "n"}, "spec": spec, "status": ended})
    assert old_ones([seen], time.time(), ()) == []


def test_a_right_that_is_missing_is_named(call: Call, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise Forbidden('experiments "one" is forbidden: User "ann" cannot delete\n\x1b[2J', status=403)

    submit("one")
    monkeypatch.setattr(Client, "delete", refuse)
    assert 'User "ann" cannot delete \ufffd[2J' in stderr_of(call, 1, "delete", "one", "--yes")


def test_a_list_can_be_limited_to_phases(call: Call, submit: Submit, server: LocalServer) -> None:
    submit("new", "busy", "done")
    server.status("busy", phase="Running")
    server.status("done", phase="Succeeded")
    assert listed(call, "--phase", "running", "--phase", "Succeeded") == ["busy", "done"]
    assert listed(call, "--phase", "submitted") == ["new"]
    assert call("get", "--phase", "Running", "-o", "name").stdout == "busy\n", "get without a name is list"
    assert call("get", "-o", "name").stdout == call("list", "-o", "name").stdout
    assert "no experiments in phase Failed" in stderr_of(call, 0, "list", "--phase", "Failed")
