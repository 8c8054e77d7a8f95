"""``muster lint``: every problem of every file at once; with ``--cluster`` also what a cluster lacks for a manifest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.errors import ApiError, Forbidden, NotFound
from muster.api.names import QUEUE_LABEL
from muster.cli.cluster_needs import lacking
from muster.cli.doctor.server import Asker
from muster.cli.manifests import read_manifest
from tests.cli.conftest import Call
from tests.client.localserver import MANIFEST, LocalServer
from tests.examples.table import BY_NAME
from tests.kinds.manifests import test_documents
from tests.kinds.manifests.test_slurm import SCRIPT


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
    file.write_text(MANIFEST.replace("python train.py", json.dumps(command)))
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
    ("line", "field"),
    [
        ("debug: {vscode: true}", "spec.debug"),
        ("storage: {sharedVolume: {mountPoint: /data, sizeGB: 5, accessMode: ReadWriteOncePod}}", "spec.storage"),
    ],
)
def test_what_would_end_as_invalid_spec_is_not_in_order(call: Call, tmp_path: Path, line: str, field: str) -> None:
    file = tmp_path / "valid.yaml"
    file.write_text(f"{MANIFEST}  {line}\n")
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
    known = {"severity": "error", "file": str(file), "line": 5, "field": "spec.operator"}
    assert {key: problem[key] for key in known} == known


def test_lint_and_a_dry_run_name_the_others(call: Call) -> None:
    text = f"{test_documents.CONFIG}---\n{test_documents.MANIFEST}"
    linted = call("lint", "-", input=text)
    assert linted.exit_code == 0
    assert "warning: the ConfigMap script is not created with the run" in linted.stdout
    dry = call("submit", "-", "--dry-run", input=text)
    assert dry.exit_code == 0
    assert "the ConfigMap script is not created with the run" in dry.stderr


def test_lint_submit_and_run_print_it(call: Call) -> None:
    for words in (("lint", "-"), ("submit", "-", "--dry-run"), ("run", "-")):
        done = call(*words, input=SCRIPT)
        assert done.exit_code == 2
        assert "a batch script of Slurm, not a manifest" in done.stdout + done.stderr
        assert "      count: 2 # the tasks of the script, one member each" in done.stderr


QUEUED = {QUEUE_LABEL: "fast", "kueue.x-k8s.io/priority-class": "high"}


def experiment(folder: Path, **changes: object) -> Path:
    spec = yaml.safe_load(MANIFEST)["spec"]
    spec["template"] = {"spec": {"priorityClassName": "urgent"}}
    metadata = {"name": "train", "labels": QUEUED}
    file = folder / "experiment.yaml"
    document = {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "metadata": metadata, "spec": spec | changes}
    file.write_text(yaml.safe_dump(document))
    return file


def warnings(call: Call, *words: object) -> list[str]:
    result = call("lint", *words)
    assert result.exit_code == 0, result.output
    return [line.partition(": warning: ")[2] for line in result.stdout.splitlines()]


def test_no_cluster_is_asked_without_an_option(call: Call, server: LocalServer, tmp_path: Path) -> None:
    assert warnings(call, experiment(tmp_path)) == []


@pytest.mark.parametrize("option", ["--cluster", "--kubeconfig"])
def test_what_the_manifest_names_and_the_cluster_lacks_is_a_warning(
    call: Call, server: LocalServer, tmp_path: Path, option: str
) -> None:
    words = (option,) if option == "--cluster" else (option, server.kubeconfig)
    assert warnings(call, experiment(tmp_path), *words) == [
        f"the label {QUEUE_LABEL} needs Kueue 0.15 or later, and the cluster has no kueue.x-k8s.io/v1beta2: install it",
        "there is no PriorityClass urgent: create it, or name another",
    ]


def test_another_kind_that_is_served_may_still_not_be_run_by_musterd(call: Call, server: LocalServer) -> None:
    assert warnings(call, BY_NAME["jaxjob"].path, "--cluster") == [
        "whether musterd runs JAXJob objects cannot be seen from here: its setting run-kinds must have jaxjobs"
    ]


def test_a_file_that_cannot_be_used_is_not_asked_for(call: Call, server: LocalServer, tmp_path: Path) -> None:
    result = call("lint", experiment(tmp_path, image=7), "--cluster")
    assert (result.exit_code, "warning" in result.stdout) == (2, False)


def test_without_a_cluster_the_option_fails(call: Call, tmp_path: Path) -> None:
    assert call("lint", experiment(tmp_path), "--cluster").exit_code == 1


MUSTER, KUEUE = "/apis/muster.dev/v1alpha1", "/apis/kueue.x-k8s.io/v1beta2"
LOCAL = f"{KUEUE}/namespaces/lab/localqueues/fast"
PRIORITY = f"{KUEUE}/workloadpriorityclasses/high"
CLASS = "/apis/scheduling.k8s.io/v1/priorityclasses/urgent"
SERVED = {MUSTER: {"resources": [{"name": "experiments"}]}, KUEUE: {"resources": [{"name": "workloads"}]}}
THERE: dict[str, Any] = {LOCAL: {}, PRIORITY: {}, CLASS: {}}
MISSING, HIDDEN = NotFound("not found", status=404), Forbidden("forbidden", status=403)


class Answers(Asker):
    """An API server that has only these objects."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    async def get(self, path: str, **_: Any) -> Any:
        found = self.answers.get(path, MISSING)
        if isinstance(found, ApiError):
            raise found
        return found


@pytest.mark.parametrize(
    ("changes", "lacks"),
    [
        ({}, []),
        ({LOCAL: MISSING}, ["there is no LocalQueue fast in namespace lab: create it, or name another"]),
        ({LOCAL: HIDDEN}, ["you may not read LocalQueue fast in namespace lab, so it was not looked up"]),
        ({PRIORITY: MISSING}, ["there is no WorkloadPriorityClass high: create it, or name another"]),
        ({PRIORITY: HIDDEN}, ["you may not read WorkloadPriorityClass high, so it was not looked up"]),
        ({CLASS: MISSING}, ["there is no PriorityClass urgent: create it, or name another"]),
        ({CLASS: HIDDEN}, ["you may not read PriorityClass urgent, so it was not looked up"]),
        ({MUSTER: {"resources": []}}, ["the cluster has no kind Experiment: "]),
    ],
)
async def test_what_is_not_there_or_may_not_be_read_is_named(
    tmp_path: Path, changes: dict[str, Any], lacks: list[str]
) -> None:
    manifest = read_manifest(str(experiment(tmp_path)))
    found = [each async for each in lacking(manifest, Answers({**SERVED, **THERE, **changes}), "lab")]
    assert len(found) == len(lacks)
    assert all(sentence.startswith(start) for sentence, start in zip(found, lacks, strict=True)), found
