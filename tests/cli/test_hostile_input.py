"""What people give by mistake: no sentence about it is untrue, and none is a traceback."""

from pathlib import Path
from typing import Any

import pytest

from muster.local.apiserver.objects import object_store
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import LocalServer, labels, running


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
    call: Call, server: LocalServer, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(object_store, "admit", lambda *_: None)
    spec: Any = {"template": {"spec": {"containers": [{"name": "main", "image": "none"}]}}}
    server.put("batch/v1", "jobs", "default", {"kind": "Job", "metadata": {"name": "train"}, "spec": spec})
    verb, *options = words
    error = call(verb, "job/train", *options).stderr
    assert "experiment" not in error
    assert "Job default/train: " in error or error == "rank 0: it has no pod now\n"
