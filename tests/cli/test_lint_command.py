"""``muster lint``: every problem of every file at once, in a form editors understand."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Call
from tests.client.localserver import MANIFEST


def test_a_manifest_without_problems(call: Call, manifest: Path) -> None:
    result = call("lint", manifest)
    assert (result.exit_code, result.stdout, result.stderr.splitlines()[-1]) == (0, "", "1 file OK")


@pytest.fixture
def lint(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The notes on a spec with these fields, which has no problem."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "experiment.yaml"

    def run(**fields: object) -> str:
        spec = yaml.safe_load(MANIFEST)["spec"] | fields
        head = {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "metadata": {"name": "demo"}}
        file.write_text(yaml.dump(head | {"spec": spec}))
        result = call("lint", file)
        assert result.exit_code == 0, result.output
        return result.stderr

    return run


@pytest.mark.parametrize(
    ("program", "assist", "noted"),
    [
        ("jax.distributed.initialize()", False, True),
        ("jax.distributed.initialize()", True, False),
        ("from muster.jax import initialize", False, False),
        (None, False, True),
    ],
)
def test_a_jax_program_that_may_hide_an_exception_is_noted(
    lint: Callable[..., str], tmp_path: Path, program: str | None, assist: bool, noted: bool
) -> None:
    if program is not None:
        (tmp_path / "train.py").write_text(program)
    notes = lint(command="python3 train.py --name 'a b'", assist=assist)
    note = f"note: {tmp_path / 'experiment.yaml'}: a failure in one rank of a jax program hangs every rank"
    assert (note in notes) is noted


@pytest.mark.parametrize(
    ("program", "noted"),
    [
        ("from torch.distributed.fsdp import FullyShardedDataParallel", True),
        ("import torch\nif True:\n    torch.distributed.init_process_group('gloo')", True),
        ("import torch, jax\ntorch.distributed.init_process_group('gloo')", False),
        ("import torch.distributed\nfrom muster.jax import initialize", False),
        ("import torch", False),
        ("# torch.distributed", False),
        ("import torch.distributed as", False),
    ],
)
def test_a_jax_manifest_of_a_torch_program_is_noted(
    lint: Callable[..., str], tmp_path: Path, program: str, noted: bool
) -> None:
    (tmp_path / "train.py").write_text(program)
    notes = lint(command="python3 train.py")
    assert notes.count("train.py uses torch.distributed and not jax: with spec.operator: pytorch") == noted
    assert not (noted and "hangs every rank" in notes), "that note is for programs of jax"


@pytest.mark.parametrize(("seconds", "noted"), [(600, False), (3600, True)])
def test_a_grace_period_that_a_restart_does_not_wait_for_is_noted(
    lint: Callable[..., str], seconds: int, noted: bool
) -> None:
    notes = lint(command="true", gracefulTermination={"terminationGracePeriodSeconds": seconds})
    assert ("cuts the grace period of 3600 s after 600 s" in notes) is noted


@pytest.mark.parametrize("command", ["echo 'open", "python3 nul\0.py", "python3 /", "true"])
def test_a_command_that_names_no_script_is_no_error(call: Call, tmp_path: Path, command: str) -> None:
    file = tmp_path / "manifest.yaml"
    document = yaml.safe_load(MANIFEST)
    document["spec"]["command"] = command
    file.write_text(yaml.dump(document))
    assert "Traceback" not in call("lint", file).output


def test_every_problem_of_every_file(call: Call, manifest: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(MANIFEST.replace("count: 2", "count: none").replace("timeout: 1h", "timeout: 1 fortnight"))
    worse = tmp_path / "worse.yaml"
    worse.write_text("a: [")
    result = call("lint", bad, manifest, worse)
    assert result.exit_code == 2
    lines = result.stdout.splitlines()
    assert [line.split(": ")[1] for line in lines[:2]] == ["spec.timeout", "spec.types.worker.count"]
    assert lines[0].startswith(f"{bad}:8:12: spec.timeout: ")
    assert lines[2].startswith(f"{worse}:")
    assert result.stderr.endswith("2 of 3 files are invalid\n")


def test_warnings_are_marked_and_harmless(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "legacy.yaml"
    file.write_text(MANIFEST.replace("worker:", "Worker:"))
    result = call("lint", file)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{file}:10:")
    assert ": warning: spec.types.Worker: " in result.stdout


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("timeout: 1h", "timeout: 1h\n  debug: {vscode: true}", "spec.debug"),
        (
            "timeout: 1h",
            "timeout: 1h\n  storage: {sharedVolume: {mountPoint: /data, sizeGB: 5, accessMode: ReadWriteOncePod}}",
            "spec.storage",
        ),
    ],
)
def test_what_would_end_as_invalid_spec_is_not_in_order(
    call: Call, tmp_path: Path, old: str, new: str, field: str
) -> None:
    file = tmp_path / "valid.yaml"
    file.write_text(MANIFEST.replace(old, new))
    result = call("lint", file)
    assert result.exit_code == 2, result.output
    assert field in result.stdout
    assert " OK" not in result.output


def test_standard_input_is_checked(call: Call) -> None:
    assert call("lint", "-", input=MANIFEST).exit_code == 0
    result = call("lint", "-", input="a: [")
    assert (result.exit_code, result.stdout[:8]) == (2, "<stdin>:")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00" * 400_000, b"[" * 10_000, b"&a [*a]", b""])
def test_a_hostile_file_is_one_clear_error(call: Call, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "hostile.yaml"
    file.write_bytes(content)
    result = call("lint", file)
    assert result.exit_code == 2
    assert 0 < len(result.stdout.splitlines()) < 5
    assert "Traceback" not in result.output


def test_a_file_that_does_not_exist_is_an_error(call: Call, tmp_path: Path) -> None:
    result = call("lint", tmp_path / "nowhere.yaml", tmp_path)
    assert result.exit_code == 2
    assert "nowhere.yaml: cannot be read: No such file or directory" in result.stdout
    assert "Is a directory" in result.stdout


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_problems_as_data(call: Call, form: str, read: object, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(MANIFEST.replace("operator: jax", "operator: slurm"))
    result = call("lint", file, "-o", form)
    assert callable(read)
    (problem,) = read(result.stdout)
    assert (problem["severity"], problem["file"], problem["line"], problem["field"]) == (
        "error",
        str(file),
        5,
        "spec.operator",
    )
