"""Every verb without a cluster, without Muster or rights, with names of attackers, and with what people mistake."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.api.errors import Unreachable, error_of
from muster.cli.options import ClusterChoice
from muster.client import Client
from tests.cli.conftest import Call, stderr_of
from tests.cli.test_foreign_text import EVIL, harmless
from tests.client.localserver import MANIFEST, LocalServer, labels, running

NAMED = [f"{verb} NAME" for verb in ("get", "explain", "logs", "stacks", "wait", "cancel", "goodput")]
NAMED += ["get NAME -w", "logs NAME -f", "delete NAME --yes", "delete NAME --dry-run"]
OTHERS = ["list", "list -A -w", "get", "goodput --all", "incidents -A"]
OTHERS += ["prune --older-than 1d --yes", "prune --older-than 1d --dry-run -A"]


def words(line: str, name: str = "mine") -> list[str]:
    return [name if word == "NAME" else word for word in line.split()]


@pytest.mark.parametrize("line", [*NAMED, *OTHERS])
def test_without_a_cluster_the_next_step_is_named(call: Call, line: str) -> None:
    assert "muster local up" in stderr_of(call, 1, *words(line))


@pytest.mark.parametrize("line", [*NAMED, *OTHERS])
def test_without_the_kind_the_next_step_is_named(call: Call, server: LocalServer, line: str) -> None:
    server.uninstall()
    assert "deploy/crds" in stderr_of(call, 1, *words(line))


class Denied:
    """An API server that refuses everything, in words of its own."""

    def _refuse(self, method: str, path: str) -> Exception:
        return error_of(403, "Forbidden", f'User "ann" cannot do this{EVIL}', request=f"{method} {path}")

    async def request(self, method: str, path: str, **_: Any) -> Any:
        raise self._refuse(method, path)

    def lines(self, path: str, *, params: Mapping[str, str], silence: float) -> Any:
        raise self._refuse("GET", path)


@pytest.mark.parametrize("line", [*NAMED, *OTHERS])
def test_without_rights_the_refusal_is_quoted(call: Call, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr(ClusterChoice, "client", lambda _: Client(transport=Denied()))
    error = stderr_of(call, 1, *words(line))
    assert 'User "ann" cannot do this' in error
    assert harmless(error), ascii(error)


class Slow:
    """An API server that thinks for a while, and is gone then."""

    async def request(self, method: str, path: str, **_: Any) -> Any:
        for _turn in range(20):
            await asyncio.sleep(0)
        raise Unreachable("gone", request=f"{method} {path}")


@pytest.mark.parametrize("line", [*NAMED, "submit - --name new", "list", "get", "prune --older-than 1d --dry-run"])
def test_a_wait_that_is_long_enough_to_be_noticed_is_named(
    call: Call, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(ClusterChoice, "client", lambda _: Client(transport=Slow()))  # type: ignore[arg-type]
    monkeypatch.setattr("muster.cli.terminal.patience.QUIET", 0.0)
    error = stderr_of(call, 1, *words(line), input=MANIFEST)
    assert error.startswith(("still ", "waiting for ")), error
    assert "gone" in error


@pytest.mark.parametrize("name", ["..", "../pods", "a/b", "", f"x{EVIL}", "a?watch=1", "a%2f..%2fpods"])
@pytest.mark.parametrize("line", NAMED)
def test_a_name_of_an_attacker_reaches_no_other_object(call: Call, server: LocalServer, line: str, name: str) -> None:
    result = call(*words(line, name))
    assert (result.exit_code, result.stdout) == (1, "")
    refusals = ("cannot be the name of a Kubernetes object", "does not exist", "is not a valid name", "is not a kind")
    assert any(refusal in result.stderr for refusal in refusals)
    assert harmless(result.output), ascii(result.output)


@pytest.mark.parametrize("verb", ["lint", "convert", "submit", "render", "run", "init"])
def test_a_file_whose_name_is_empty_is_not_the_working_directory(call: Call, verb: str) -> None:
    result = call(verb, "")
    assert result.exit_code == 2
    assert "name is empty" in result.output or "name of FILE is empty" in result.output
    assert "directory" not in result.output


def test_standard_input_is_given_to_lint_once(call: Call) -> None:
    assert "standard input can be read once" in stderr_of(call, 2, "lint", "-", "-", input="a: 1")


def test_an_empty_list_has_a_sentence_of_its_own(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    file.write_text("kind: List\napiVersion: v1\nitems: []\n")
    assert f"{file}:1:1: the list is empty, " in stderr_of(call, 2, "convert", file)


@pytest.mark.parametrize(("name", "quoted"), [("", "''"), ("job/", "'job/'")])
def test_a_run_without_a_name_is_quoted(call: Call, server: LocalServer, name: str, quoted: str) -> None:
    assert stderr_of(call, 1, "diagnose", name) == f"muster: {quoted} names no run: write NAME, or KIND/NAME\n"


def test_an_epoch_that_no_one_has_seen_is_not_called_over(call: Call, server: LocalServer, mine: str) -> None:
    assert "experiment default/mine: no pod of epoch 3 exists" in stderr_of(call, 1, "logs", mine, "--epoch", "3")
    server.status(mine, phase="Running", epoch=1)
    server.pod("mine-0", labels(mine, 0, epoch=1), **running())
    assert "epoch 3 has not begun: epoch 1 is the latest" in stderr_of(call, 1, "logs", mine, "--epoch", "3")
    assert "no log of epoch 0 is kept" in stderr_of(call, 1, "logs", mine, "--epoch", "0")


@pytest.mark.parametrize(
    "words", [("logs",), ("logs", "--epoch", "1"), ("stacks",), ("stacks", "--rank", "7")], ids=" ".join
)
def test_an_object_of_another_kind_is_called_by_its_kind(
    call: Call, server: LocalServer, diagnosable: None, words: tuple[str, ...]
) -> None:
    spec: Any = {"template": {"spec": {"containers": [{"name": "main", "image": "none"}]}}}
    server.put("batch/v1", "jobs", "default", {"kind": "Job", "metadata": {"name": "train"}, "spec": spec})
    verb, *options = words
    error = call(verb, "job/train", *options).stderr
    assert "experiment" not in error
    assert "Job default/train: " in error or error == "rank 0: it has no pod now\n"
