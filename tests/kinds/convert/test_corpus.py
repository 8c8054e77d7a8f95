"""Manifests of each kind: the Experiment that they become is in order, and every field that is lost is named."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.manifest.experiment import Experiment
from muster.api.manifest.load import Loaded, load_manifest
from muster.kinds.experiments import plan_of
from muster.kinds.manifests.conversion import Conversion, convert
from muster.kinds.manifests.converters import CONVERTERS
from muster.kinds.manifests.load import load_any
from muster.kinds.registry import RUN_KINDS
from muster.state.vocabulary.plan import Plan

AS_IT_IS = ("jaxjob", "jobset-leader-and-workers")
"""Those that Muster runs as they are, and that are converted only where that is asked for."""
CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.yaml"))


def read(path: Path) -> Conversion:
    return convert(path.read_text(), filename=path.name)


def converted(name: str) -> Any:
    """The spec of the Experiment that the manifest of that name becomes."""
    return read(CORPUS[0].with_name(f"{name}.yaml")).document["spec"]


def planned(found: Conversion) -> Plan:
    loaded = load_manifest(yaml.safe_dump(found.document))
    assert loaded.name is not None
    return plan_of(Experiment("u-1", loaded.name, "default", 1, None, loaded.spec))


def test_there_is_a_manifest_of_every_kind() -> None:
    assert {read(path).kind for path in CORPUS} == {*CONVERTERS, "AIchorManifest"}


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_is_lost_is_named_with_its_place_and_nothing_else_is(path: Path) -> None:
    lines = path.read_text().splitlines()
    found = read(path)
    for word, problems in (("lost", found.losses), ("note", found.notes)):
        expected = [line.removeprefix(f"# {word}:").strip() for line in lines if line.startswith(f"# {word}:")]
        assert sorted(problem.field for problem in problems) == sorted(expected), word
    for problem in (*found.losses, *found.notes):
        assert (problem.file, problem.line > 0, problem.column > 0) == (path.name, True, True)
        assert not lines[problem.line - 1].startswith("#")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_experiment_is_in_order_and_stays_as_it_is_when_it_is_converted_again(path: Path) -> None:
    found = read(path)
    assert planned(found).groups
    again = convert(yaml.safe_dump(found.document), filename="again.yaml")
    assert (again.document, again.losses) == (found.document, ())


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_manifest_of_any_kind_can_be_loaded_as_what_it_becomes(path: Path) -> None:
    found = read(path)
    if path.stem in AS_IT_IS:
        assert found.kind in RUN_KINDS
        return
    loaded = load_any(path.read_text(), filename=path.name)
    assert isinstance(loaded, Loaded)
    assert loaded.spec == load_manifest(yaml.safe_dump(found.document)).spec or found.kind == "AIchorManifest"
    if found.kind in CONVERTERS:
        assert loaded.warnings == found.losses
        assert f"this {found.kind} is run as an Experiment" in str(loaded.notes[0])


def test_groups_of_a_jobset_keep_their_size_their_lines_and_what_they_wait_for() -> None:
    found = read(CORPUS[0].with_name("jobset-leader-and-workers.yaml"))
    groups = {group.name: (group.replicas, group.completions) for group in planned(found).groups}
    assert groups == {"driver": (1, 1), "workers": (2, 3)}
    spec = found.document["spec"]
    assert spec["types"]["workers"]["dependsOn"] == [{"group": "driver", "status": "Ready"}]
    assert spec["successPolicy"] == {"operator": "All", "targets": ["driver"]}
    assert spec["restartPolicy"] == {"backoffLimit": 2}
    assert spec["failurePolicy"]["rules"] == [
        {"name": "data", "action": "FailExperiment", "targetGroups": ["driver"]},
        {"action": "RestartJob", "counted": False},
    ]
    assert spec["gracefulTermination"] == {"terminationGracePeriodSeconds": 45}
    assert spec["command"].splitlines()[1:3] == ["driver)", "python3 driver.py --steps 100"]
    assert found.document["metadata"] == {
        "name": "tree",
        "namespace": "research",
        "labels": {"team": "folding"},
        "annotations": {"example.org/owner": "ann"},
    }


def test_a_container_keeps_what_it_asks_for() -> None:
    worker = converted("jobset-leader-and-workers")["types"]["workers"]
    assert worker["resources"] == {
        "cpus": 2, "cpuLimitRatio": 1.5, "memory": 6, "accelerators": {"gpu": {"count": 1}}, "shmSizeGB": 2,
    }  # fmt: skip
    pod = worker["template"]["spec"]
    assert pod["nodeSelector"] == {"pool": "batch"}
    assert pod["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "leaves"}}]
    main, shipper = pod["containers"]
    assert (main["name"], shipper["name"]) == ("main", "log-shipper")
    assert main["env"] == [{"name": "SHARD", "value": "$(JOB_GLOBAL_INDEX)"}]
    assert main["volumeMounts"] == [{"name": "data", "mountPath": "/data"}]
    assert main["resources"] == {"limits": {"example.org/fpga": 2}}


def test_a_time_to_live_after_the_end_is_kept() -> None:
    found = [converted(name)["ttlAfterFinished"] for name in ("jobset-one-group", "rayjob", "jaxjob")]
    assert found == ["600s", "0s", "3600s"]


def test_a_line_of_a_shell_stays_one() -> None:
    spec = converted("jobset-one-group")
    assert spec["command"] == "python3 trial.py --index $JOB_INDEX && echo $(date)"
    assert (spec["suspend"], spec["types"]["trial"]["count"]) == (True, 4)


def test_a_program_of_a_jaxjob_finds_the_variables_it_reads() -> None:
    spec = converted("jaxjob")
    (main,) = spec["types"]["worker"]["template"]["spec"]["containers"]
    names = {each["name"]: each["value"] for each in main["env"]}
    assert names["COORDINATOR_ADDRESS"] == "$(JAXOPERATOR_COORDINATOR_HOST)"
    assert names["PROCESS_ID"] == "$(JAXOPERATOR_PROCESS_ID)"
    assert (spec["activeDeadlineSeconds"], spec["restartPolicy"]) == (3600, {"backoffLimit": 2})


def test_a_master_like_its_workers_is_the_first_of_them() -> None:
    spec = converted("xgboostjob")
    assert {name: each["count"] for name, each in spec["types"].items()} == {"worker": 3}
    assert (spec["command"], spec["restartPolicy"]) == ("python3 boost.py", {"backoffLimit": 0})


def test_a_master_of_another_size_holds_rank_0_and_decides_the_outcome() -> None:
    spec = converted("pytorchjob")
    assert {name: each["count"] for name, each in spec["types"].items()} == {"master": 1, "worker": 3}
    assert spec["successPolicy"] == {"targets": ["master"]}
    assert (
        spec["command"] == 'case "$RANK" in\n0)\ntorchrun digits.py --role master\n;;\n*)\ntorchrun digits.py\n;;\nesac'
    )


def test_a_ray_cluster_keeps_its_groups_and_parameters() -> None:
    spec = converted("rayjob")
    assert (spec["command"], spec["rayVersion"]) == ("python tune.py --trials 20", "2.46.0")
    assert spec["clocks"] == {"assembly": {"after": "600s", "action": "Restart"}}
    (workers,) = spec["types"]["Workers"]
    assert (workers["name"], workers["count"]) == ("small", 2)
    assert workers["rayStartParams"] == {"resources": "'{\"small\": 1}'"}
    assert spec["types"]["Head"]["rayStartParams"] == {"dashboard-host": "0.0.0.0"}


def test_workers_of_several_hosts_are_counted_by_host() -> None:
    spec = converted("raycluster")
    assert spec["types"]["Workers"][0]["count"] == 4
    assert spec["command"] == "sleep infinity"


def test_a_trainjob_takes_its_framework_from_the_name_of_its_runtime() -> None:
    spec = converted("trainjob")
    assert (spec["operator"], spec["types"]["worker"]["count"], spec["command"]) == ("jax", 2, "python fit.py")
    (main,) = spec["types"]["worker"]["template"]["spec"]["containers"]
    assert {"name": "LR", "value": "0.1"} in main["env"]


def test_a_trainjob_of_xgboost_loses_no_variable_that_muster_sets_itself() -> None:
    trainer = {"image": "i", "command": ["python3", "train.py"]}
    job = {"metadata": {"name": "t"}, "spec": {"runtimeRef": {"name": "xgboost-distributed"}, "trainer": trainer}}
    found = convert(yaml.safe_dump({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"} | job))
    assert (found.losses, "template" in found.document["spec"]["types"]["worker"]) == ((), False)
