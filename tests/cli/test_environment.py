"""The environment of ``muster run``: the caller's, what is given, what differs, and what is said about it."""

from pathlib import Path
from typing import Any

import pytest

from muster.api.manifest.load import load_manifest
from muster.api.manifest.problems import ManifestError
from muster.cli.environment import read_env_files, run_environment
from muster.cli.manifests import Manifest
from muster.state.vocabulary.plan import Plan
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import MANIFEST


@pytest.fixture
def plan() -> Plan:
    return Manifest("", MANIFEST, load_manifest(MANIFEST)).plan(name="mine")


def test_pods_get_the_callers_environment(plan: Plan) -> None:
    inherited = {"PATH": "/venv/bin:/bin", "HOME": "/home/me", "XLA_FLAGS": "a b", "PYTHONPATH": "src", "TOKEN": "t"}
    environment = run_environment(inherited, {}, plan)
    assert environment.variables == inherited
    assert len(list(environment.remarks(Path("/project")))) == 1


def test_given_variables_win_and_are_named_without_their_values(plan: Plan) -> None:
    environment = run_environment({"A": "1", "B": "2"}, {"B": "secret", "C": "3"}, plan)
    assert environment.variables == {"A": "1", "B": "secret", "C": "3"}
    _, changed = environment.remarks(Path("/project"))
    assert changed == "changed in it: B, C (set by --env)"


def test_variables_that_every_pod_gets_are_named(plan: Plan) -> None:
    inherited = {"JAX_COORDINATOR_ADDRESS": "old:1", "HOSTNAME": "laptop"}
    environment = run_environment(inherited, {"MUSTER_RANK": "7"}, plan)
    _, changed = environment.remarks(Path("/project"))
    assert changed == "changed in it: HOSTNAME, JAX_COORDINATOR_ADDRESS, MUSTER_RANK (set by Muster)"


def test_a_proxy_is_not_asked_for_pods(plan: Plan) -> None:
    environment = run_environment({"HTTPS_PROXY": "http://proxy", "no_proxy": "example.com"}, {}, plan)
    assert environment.variables["no_proxy"] == "example.com,mine,.mine"
    assert environment.variables["NO_PROXY"] == "mine,.mine"
    assert "NO_PROXY, no_proxy (extended by the names of the pods)" in list(environment.remarks(Path("/")))[1]
    assert "no_proxy" not in run_environment({}, {}, plan).variables


def test_the_python_that_pods_run_is_named(plan: Plan, tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.touch(0o755)
    environment = run_environment({"PATH": str(tmp_path)}, {}, plan)
    assert list(environment.remarks(Path("/project"))) == [
        f"pods get this shell's environment and begin in /project; python3 is {python}"
    ]
    python.unlink()
    assert "there is no python3 on PATH" in next(environment.remarks(Path("/project")))


def test_files_are_read_in_order(tmp_path: Path) -> None:
    first, second = tmp_path / "a.env", tmp_path / "b.env"
    first.write_text("# comment\n\nexport A=1\nB='two words'\nC=${A}\n")
    second.write_text('B="three"\nE=\n')
    assert read_env_files([first, second]) == {"A": "1", "B": "three", "C": "${A}", "E": ""}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"A=1\nJUST_A_NAME\n", ":2:1: not of the form NAME=VALUE"),
        (b"A=1\n'B\n", ":2:1: not of the form NAME=VALUE"),
        (b"A=a\0b\n", ":1:1: not of the form NAME=VALUE"),
        (b"A=\xff\n", ": cannot be read: it is not UTF-8"),
        (None, ": cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_explained(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "my.env"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ManifestError) as refused:
        read_env_files([file])
    assert str(refused.value) == f"{file}{message}"


@pytest.mark.parametrize("word", ["A", "=1", ""])
def test_an_assignment_needs_a_name_and_a_value(call: Call, word: str) -> None:
    result = call("run", "-n", 1, "--env", word, "--", "true")
    assert result.exit_code == 2
    assert "is not of the form NAME=VALUE" in result.stderr


def test_a_program_that_is_not_there_starts_no_cluster(call: Call, monkeypatch: Any) -> None:
    monkeypatch.setattr("muster.cli.commands.run.local_cluster", None)
    assert "there is no program 'no-such-program'" in stderr_of(call, 2, "run", "-n", 1, "--", "no-such-program")
