"""``muster lint``: every problem of every file at once, in a form editors understand."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Call
from tests.client.localserver import MANIFEST


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.yaml"
    file.write_text(MANIFEST)
    return file


def test_a_manifest_without_problems(call: Call, good: Path) -> None:
    result = call("lint", good)
    assert (result.exit_code, result.stdout, result.stderr.splitlines()[-1]) == (0, "", "1 file OK")


@pytest.mark.parametrize(
    ("program", "noted"),
    [("jax.distributed.initialize()", True), ("from muster.jax import initialize", False), (None, True)],
)
def test_a_jax_program_that_may_hide_an_exception_is_noted(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, noted: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if program is not None:
        (tmp_path / "train.py").write_text(program)
    file = tmp_path / "manifest.yaml"
    file.write_text(yaml.dump(yaml.safe_load(MANIFEST) | {"spec": with_command("python3 train.py --name 'a b'")}))
    result = call("lint", file)
    assert result.exit_code == 0, result.output
    assert (f"note: {file}: a failure in one rank of a jax program hangs" in result.stderr) is noted


TORCH_NOTE = "train.py uses torch.distributed and not jax: with spec.operator: pytorch"


@pytest.mark.parametrize(
    ("program", "noted"),
    [
        ("import torch.distributed as dist", True),
        ("from torch import distributed", True),
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
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, noted: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(program)
    file = tmp_path / "manifest.yaml"
    file.write_text(yaml.dump(yaml.safe_load(MANIFEST) | {"spec": with_command("python3 train.py")}))
    result = call("lint", file)
    assert result.exit_code == 0, result.output
    assert result.stderr.count(TORCH_NOTE) == noted
    assert not (noted and "hangs every rank" in result.stderr), "that note is for programs of jax"


def test_with_assist_an_exception_is_not_hidden(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    for assist in (False, True):
        spec = with_command("python3 train.py") | {"assist": assist}
        head = {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "metadata": {"name": "demo"}}
        file.write_text(yaml.dump(head | {"spec": spec}))
        result = call("lint", file)
        assert result.exit_code == 0, result.output
        assert ("hangs every rank" in result.stderr) is not assist


@pytest.mark.parametrize(("seconds", "noted"), [(600, False), (3600, True)])
def test_a_grace_period_that_a_restart_does_not_wait_for_is_noted(
    call: Call, tmp_path: Path, seconds: int, noted: bool
) -> None:
    file = tmp_path / "manifest.yaml"
    spec = with_command("true") | {"gracefulTermination": {"terminationGracePeriodSeconds": seconds}}
    file.write_text(yaml.dump(yaml.safe_load(MANIFEST) | {"spec": spec}))
    result = call("lint", file)
    assert result.exit_code == 0, result.output
    assert ("cuts the grace period of 3600 s after 600 s" in result.stderr) is noted


@pytest.mark.parametrize("command", ["echo 'open", "python3 nul\0.py", "python3 /", "true"])
def test_a_command_that_names_no_script_is_no_error(call: Call, tmp_path: Path, command: str) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text(yaml.dump(yaml.safe_load(MANIFEST) | {"spec": with_command(command)}))
    assert "Traceback" not in call("lint", file).output


def with_command(line: str) -> dict[str, object]:
    spec: dict[str, object] = yaml.safe_load(MANIFEST)["spec"]
    return spec | {"command": line}


def test_every_problem_of_every_file(call: Call, good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(MANIFEST.replace("count: 2", "count: none").replace("timeout: 1h", "timeout: 1 fortnight"))
    worse = tmp_path / "worse.yaml"
    worse.write_text("a: [")
    result = call("lint", bad, good, worse)
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
