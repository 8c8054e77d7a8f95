"""What pods of ``muster run`` get: the environment of the caller, and a share of a machine that others use, too."""

from pathlib import Path
from typing import Any

import pytest

from muster.api.errors import MusterError
from muster.api.manifest.changes import Share
from muster.api.manifest.load import load_manifest
from muster.api.manifest.problems import ManifestError
from muster.api.names import LABEL_EXPERIMENT
from muster.cli.environment import ALONE, BESIDE, LEAST, Room, read_env_files, run_environment
from muster.cli.manifests import Manifest
from muster.cli.program import program_manifest
from muster.local.node.scheduling.fit import amounts
from muster.local.node.scheduling.scheduler import Ledger
from muster.state.vocabulary.plan import Plan
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import MANIFEST
from tests.local.node.harness import Pod, container, pod


@pytest.fixture
def plan() -> Plan:
    return Manifest("", MANIFEST, load_manifest(MANIFEST)).plan(name="mine")


def test_pods_get_the_callers_environment(plan: Plan) -> None:
    inherited = {"PATH": "/venv/bin:/bin", "HOME": "/home/me", "XLA_FLAGS": "a b", "PYTHONPATH": "src", "TOKEN": "t"}
    environment = run_environment(inherited, {}, plan)
    assert environment.variables == inherited
    assert len(list(environment.remarks(Path("/project")))) == 1


@pytest.mark.parametrize(
    ("inherited", "given", "changed"),
    [
        ({"A": "1", "B": "2"}, {"B": "secret", "C": "3"}, "B, C (set by --env)"),
        (
            {"JAX_COORDINATOR_ADDRESS": "old:1", "HOSTNAME": "laptop"},
            {"MUSTER_RANK": "7"},
            "HOSTNAME, JAX_COORDINATOR_ADDRESS, MUSTER_RANK (set by Muster)",
        ),
    ],
    ids=["given", "that every pod gets"],
)
def test_variables_that_differ_are_named_without_their_values(
    plan: Plan, inherited: dict[str, str], given: dict[str, str], changed: str
) -> None:
    environment = run_environment(inherited, given, plan)
    assert environment.variables == inherited | given
    assert list(environment.remarks(Path("/project")))[1:] == [f"changed in it: {changed}"]


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
    assert "is not of the form NAME=VALUE" in stderr_of(call, 2, "run", "-n", 1, "--env", word, "--", "true")


def test_a_program_that_is_not_there_starts_no_cluster(call: Call, monkeypatch: Any) -> None:
    monkeypatch.setattr("muster.cli.commands.run.local_cluster", None)
    assert "there is no program 'no-such-program'" in stderr_of(call, 2, "run", "-n", 1, "--", "no-such-program")


CAPACITY = amounts({"cpu": "2", "memory": "8G", "pods": "250"})


def running(name: str, cpu: str, memory: str, **metadata: str) -> Pod:
    """A pod of an experiment."""
    made = pod(f"{name}-worker-0-0", container(resources={"requests": {"cpu": cpu, "memory": memory}}))
    made["metadata"] |= {"labels": {LABEL_EXPERIMENT: name}} | metadata
    return made


def plan_with(workers: int, share: Share) -> Plan:
    return Manifest("", "", program_manifest(["true"], workers=workers, restarts=0, share=share)).plan(name="mine")


def refusal(room: Room, plan: Plan, *, cut: bool = False) -> str:
    with pytest.raises(MusterError) as refused:
        room.refuse(plan, "2 workers need", cut=cut)
    return str(refused.value)


def test_alone_the_workers_share_nearly_the_whole_machine() -> None:
    room = Room(Ledger(CAPACITY), ALONE)
    assert room.share(2) == Share(cpus=0.9, memory=3.6)
    assert room.share(7) == Share(cpus=0.257, memory=1.028)
    room.refuse(plan_with(7, room.share(7)), "7 workers need", cut=False)


def test_beside_others_they_share_half_of_what_is_free() -> None:
    room = Room(Ledger(CAPACITY, [running("hang", "0.6", "2G")]), BESIDE)
    assert room.share(2) == Share(cpus=0.35, memory=1.5)
    assert room.note("default") == "experiment hang holds 0.6 CPU and 2 GB"


def test_what_a_submitter_asks_for_is_not_shared() -> None:
    assert Room(Ledger(CAPACITY), ALONE).share(2, Share(0.5, 1.0)) == Share(cpus=0.65, memory=3.1)


def test_where_nearly_nothing_is_free_a_worker_is_refused_and_not_starved() -> None:
    room = Room(Ledger(CAPACITY, [running("hang", "1.98", "7.9G")]), BESIDE)
    assert room.share(2) == LEAST
    assert refusal(room, plan_with(2, room.share(2))) == (
        "2 workers need 0.1 CPU, 0.02 are free: experiment hang holds 1.98, "
        "and 0.5 GB of memory, 0.1 are free: experiment hang holds 7.9; wait for it: muster wait hang"
    )


HANG, WAIT, IGNORE = "experiment hang", "wait for it: muster wait hang", "--ignore-resources"


@pytest.mark.parametrize(
    ("pods", "cpus", "cut", "sentence"),
    [
        (
            [running("hang", "0.6", "1G"), running("far", "0.1", "1G", namespace="team")],
            1.0,
            True,
            f"2 CPU, 1.3 are free: {HANG} holds 0.6, experiment far of namespace team holds 0.1; {WAIT}, or {IGNORE}",
        ),
        ([running("hang", "0.6", "1G")], 1.5, True, f"3 CPU, this machine has 2; {IGNORE} cuts them"),
        ([running("hang", "0.001", "1G")], 1.0, False, f"2 CPU, 1.99 are free: {HANG} holds 0.01; {WAIT}"),
    ],
    ids=["what holds the rest and what to do", "what never fits is not blamed on others", "rounded so that it holds"],
)
def test_what_does_not_fit_is_named(pods: list[Pod], cpus: float, cut: bool, sentence: str) -> None:
    shown = refusal(Room(Ledger(CAPACITY, pods), BESIDE), plan_with(2, Share(cpus, 1.0)), cut=cut)
    assert shown == f"2 workers need {sentence}"
