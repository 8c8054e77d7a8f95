"""``muster convert``: an Experiment on standard output, and what it lacks beside it."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Call, stderr_of

CORPUS = Path(__file__).parents[1] / "kinds" / "convert" / "corpus"
JOBSET = CORPUS / "jobset-leader-and-workers.yaml"


def test_the_experiment_is_data_and_what_is_lost_is_reported_twice(call: Call) -> None:
    result = call("convert", JOBSET)
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout)["kind"] == "Experiment"
    heading = [line for line in result.stdout.splitlines() if line.startswith("#")]
    assert heading[0] == f"# Made by muster convert from the JobSet in {JOBSET}."
    (line,) = [line for line in heading if "spec.coordinator" in line]
    assert line.startswith("#   25:3: spec.coordinator: the operator jobset has no coordinator")
    assert f"lost: {JOBSET}:25:3: spec.coordinator: not carried over: " in result.stderr
    assert "    command: |" not in result.stdout
    assert "  command: |" in result.stdout


def test_json_is_the_same_experiment(call: Call) -> None:
    as_json, as_yaml = call("convert", JOBSET, "-o", "json"), call("convert", JOBSET)
    assert json.loads(as_json.stdout) == yaml.safe_load(as_yaml.stdout)


@pytest.mark.parametrize(("name", "code"), [("jobset-leader-and-workers", 4), ("jobset-one-group", 0)])
def test_strict_has_an_exit_status_of_its_own_for_what_is_lost(call: Call, name: str, code: int) -> None:
    assert call("convert", CORPUS / f"{name}.yaml").exit_code == 0
    result = call("convert", "--strict", CORPUS / f"{name}.yaml")
    assert (result.exit_code, bool(result.stdout)) == (code, True)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_printed_can_be_read_by_the_other_verbs(call: Call, path: Path) -> None:
    printed = call("convert", path).stdout
    result = call("lint", "-", input=printed)
    assert (result.exit_code, "file OK" in result.stderr) == (0, True), result.output
    assert call("submit", "-", "--dry-run", input=printed).exit_code == 0


def test_a_manifest_that_cannot_become_an_experiment_is_an_error(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n")
    assert f"{file}:2:7: kind: Job of batch/v1 cannot be converted" in stderr_of(call, 2, "convert", file)


def test_the_other_verbs_take_every_kind(call: Call) -> None:
    lint = call("lint", CORPUS / "raycluster.yaml", CORPUS / "xgboostjob.yaml", CORPUS / "rayjob.yaml")
    assert lint.exit_code == 0, lint.output
    assert "warning: spec.rayClusterSpec.enableInTreeAutoscaling: not carried over" in lint.stdout
    assert "this RayJob is run as an Experiment" in lint.stderr
    rendered = call("render", CORPUS / "xgboostjob.yaml")
    objects = [each["kind"] for each in yaml.safe_load_all(rendered.stdout)]
    assert objects == ["Experiment", "Service", "Pod", "Pod", "Pod"]
    assert call("submit", CORPUS / "rayjob.yaml", "--dry-run", "-o", "yaml").exit_code == 0


JAXJOB = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: cosine}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: jax, image: i, command: [python, train.py]}]}}
"""


@pytest.mark.usefixtures("server")
def test_an_object_that_muster_runs_goes_as_itself(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JAXJOB)
    lint = call("lint", file)
    assert (lint.exit_code, lint.stdout) == (0, "")
    objects = [*yaml.safe_load_all(call("render", file).stdout)]
    assert [each["kind"] for each in objects] == ["JAXJob", "Service", "Pod", "Pod"]
    assert objects[2]["spec"]["containers"][0]["command"] == ["python", "train.py"]
    result = call("submit", file)
    assert (result.exit_code, result.stdout) == (0, "jaxjob/cosine\n"), result.output
    shown = call("get", "jaxjob/cosine", "-o", "json")
    assert json.loads(shown.stdout)["spec"] == objects[0]["spec"], shown.output
    assert "jaxjob/cosine" in call("list", "--kind", "jaxjob").stdout


def test_an_object_that_muster_would_run_and_cannot_is_refused_with_its_line(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JAXJOB.replace("replicas: 2", "replicas: -2"))
    result = call("lint", file)
    assert result.exit_code == 2
    assert f"{file}:7:17: spec.jaxReplicaSpecs.Worker.replicas: -2 is out of range" in result.stdout


def test_a_change_on_the_command_line_is_refused_before_anything_is_started(call: Call) -> None:
    error = stderr_of(call, 2, "run", JOBSET, "--set", "spec.replicatedJobs.worker.replicas=1")
    assert "spec.replicatedJobs.worker: no element has this name, did you mean workers?" in error
    for option in (("--set", "types.worker.count=1"), ("--ignore-resources",)):
        assert "PROGRAM has none" in stderr_of(call, 2, "run", *option, "-n", "2", "--", "true")
