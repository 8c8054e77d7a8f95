"""The corpus: valid manifests load, legacy ones load with a warning, invalid ones give the errors they expect."""

import json
from pathlib import Path

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.load import Loaded, experiment_object, load_manifest
from muster.api.manifest.problems import ManifestError
from tests.builders import sure

CORPUS = Path(__file__).parent / "corpus"
VALID = sorted((CORPUS / "valid").glob("*.yaml"))
LEGACY = sorted((CORPUS / "legacy").glob("*.yaml"))
INVALID = sorted((CORPUS / "invalid").glob("*.yaml"))


def load(path: Path) -> Loaded:
    return load_manifest(path.read_text(encoding="utf-8"), filename=path.name)


def members(loaded: Loaded) -> dict[str, int]:
    return {group.name: group.members for group in loaded.spec.groups}


@pytest.mark.parametrize("path", [*VALID, *LEGACY], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_loaded_manifest_can_be_posted_and_reads_back_unchanged(path: Path) -> None:
    loaded = load(path)
    posted = json.loads(json.dumps(experiment_object(loaded, name="e", namespace="default")))
    posted["metadata"].update(uid="u-1", resourceVersion="1", generation=1, creationTimestamp="2026-01-01T00:00:00Z")
    assert parse_experiment(posted).spec == loaded.spec


@pytest.mark.parametrize("path", LEGACY, ids=lambda path: path.stem)
def test_older_spellings_load_with_a_warning_that_shows_the_new_form(path: Path) -> None:
    warnings = [str(warning) for warning in load(path).warnings]
    assert warnings
    assert all("types: {" in warning and warning.startswith(path.name) for warning in warnings)


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_invalid_manifests_are_refused_with_the_expected_messages(path: Path) -> None:
    expected = [
        line.removeprefix("# expect: ") for line in path.read_text().splitlines() if line.startswith("# expect: ")
    ]
    with pytest.raises(ManifestError) as raised:
        load(path)
    message = str(raised.value)
    assert expected
    assert [words for words in expected if words not in message] == []
    assert all(problem.file == path.name and problem.line and problem.column for problem in raised.value.problems)


def test_master_and_worker_of_the_same_size_become_one_group() -> None:
    loaded = load(CORPUS / "legacy" / "pytorch-master.yaml")
    assert members(loaded) == {"worker": 4}
    (warning,) = loaded.warnings
    assert "(1 Master + 3 Worker), Master is rank 0" in str(warning)


@pytest.mark.parametrize(
    ("name", "groups"),
    [("xgboost-bigger-master", [("master", 1), ("worker", 2)]), ("pytorch-master-alone", [("worker", 1)])],
)
def test_a_larger_master_keeps_the_first_ranks_and_one_alone_is_the_worker(
    name: str, groups: list[tuple[str, int]]
) -> None:
    assert list(members(load(CORPUS / "legacy" / f"{name}.yaml")).items()) == groups


def test_a_misspelt_gpu_count_is_a_warning_and_requests_no_gpu() -> None:
    loaded = load(CORPUS / "valid" / "jax-misspelt-gpu-count.yaml")
    assert loaded.spec.groups[0].resources.gpus == 0
    (warning,) = [warning for warning in loaded.warnings if "gpu" in warning.field]
    assert "did you mean count?" in warning.hint
    assert "NO GPU IS REQUESTED" in warning.hint
    assert (warning.line, warning.column) == (17, 13)


def test_every_field_of_a_gpu_manifest_is_read() -> None:
    loaded = load(CORPUS / "valid" / "jax-gpu.yaml")
    (group,) = loaded.spec.groups
    assert (group.name, group.members) == ("worker", 4)
    assert (group.resources.cpu_request, group.resources.cpu_limit) == ("12", "24")
    assert (group.resources.memory_request, group.resources.shm_size_gb) == ("90G", 8)
    assert group.resources.gpus == 8
    assert loaded.spec.deadline_seconds == 108_000
    assert (loaded.kind, loaded.name, loaded.namespace) == ("AIchorManifest", None, None)
    assert [warning.field for warning in loaded.warnings] == ["builder", "clone"]


def test_a_tpu_slice_has_one_member_per_host() -> None:
    (group,) = load(CORPUS / "valid" / "jax-tpu-spot.yaml").spec.groups
    assert (group.count, group.completions, group.parallelism, group.members) == (2, 4, 4, 8)
    assert group.resources.shm_size_gb == 0


def test_a_type_of_a_jobset_has_count_times_completions_members() -> None:
    groups = load(CORPUS / "valid" / "jobset-mixed.yaml").spec.groups
    assert [(group.name, group.count, group.completions, group.parallelism) for group in groups] == [
        ("driver", 1, 1, 1),
        ("worker", 5, 4, 2),
        ("worker-2", 1, 4, 1),
    ]


def test_ray_groups_keep_their_start_parameters() -> None:
    loaded = load(CORPUS / "valid" / "kuberay-groups.yaml")
    head, small, pool = loaded.spec.groups
    assert (head.name, head.members, head.ray_start_params) == ("head", 1, ())
    assert small.ray_start_params == (("num-cpus", "0"), ("object-store-memory", "1000000000"))
    assert (pool.name, pool.members) == ("gpu-pool", 0)
    assert loaded.spec.debug is not None
    assert sure(loaded.spec.debug.jupyter).enabled is False


def test_an_experiment_file_has_musters_own_fields() -> None:
    loaded = load(CORPUS / "valid" / "experiment.yaml")
    assert (loaded.kind, loaded.name, loaded.namespace) == ("Experiment", "protein-fold", "research")
    assert loaded.labels == {"team": "folding"}
    spec = loaded.spec
    assert spec.suspend
    assert spec.startup.order == "CoordinatorFirst"
    assert spec.restart_policy.backoff.max_seconds == 90
    assert spec.clocks.pending is not None
    assert (spec.clocks.pending.after_seconds, spec.clocks.pending.action) == (7_200, "Fail")
    assert sure(spec.clocks.terminating).action == "Alert"
    assert [warning.field for warning in loaded.warnings] == ["metadata", "status"]


def test_the_retries_of_an_aichor_manifest_are_the_back_off_limit() -> None:
    assert load(CORPUS / "valid" / "pytorch-retries.yaml").spec.restart_policy.backoff_limit == 0
