"""``muster render``: the objects musterd creates, from a manifest alone."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.cli.manifests import PLACEHOLDER_UID
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import MANIFEST

JOBSET = """
kind: AIchorManifest
spec:
  operator: jobset
  image: none
  command: "true"
  types:
    actor: {count: 2, completions: 2, resources: {cpus: 1, ramRatio: 2}}
    learner: {resources: {cpus: 1, ramRatio: 2}}
"""


def documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def test_experiment_service_and_every_pod_are_printed_as_yaml(call: Call, manifest: Path) -> None:
    result = call("render", manifest, "--name", "mine", "-n", "team")
    assert result.exit_code == 0
    experiment, service, *pods = documents(result.stdout)
    assert (experiment["kind"], experiment["metadata"]) == ("Experiment", {"name": "mine", "namespace": "team"})
    assert (service["kind"], service["metadata"]["name"]) == ("Service", "mine")
    assert [pod["metadata"]["labels"]["muster.dev/rank"] for pod in pods] == ["0", "1"]
    assert {pod["metadata"]["labels"]["muster.dev/epoch"] for pod in pods} == {"0"}
    assert {pod["metadata"]["namespace"] for pod in pods} == {"team"}
    assert {owner["uid"] for pod in pods for owner in pod["metadata"]["ownerReferences"]} == {PLACEHOLDER_UID}


def test_the_placeholder_is_stated_in_a_comment(call: Call, manifest: Path) -> None:
    comments = [line for line in call("render", manifest).stdout.splitlines() if line.startswith("# ")]
    assert f"uid {PLACEHOLDER_UID} is a placeholder" in comments[1]
    stated = call("render", manifest, "--uid", "real").stdout
    assert "is a placeholder" not in stated
    assert documents(stated)[1]["metadata"]["ownerReferences"][0]["uid"] == "real"


def test_the_output_is_the_same_every_time(call: Call, manifest: Path) -> None:
    assert call("render", manifest).stdout == call("render", manifest).stdout
    assert documents(call("render", manifest).stdout)[0]["metadata"]["name"].startswith("train-")


def test_json_is_one_list(call: Call, manifest: Path) -> None:
    listed = json.loads(call("render", manifest, "-o", "json").stdout)
    assert (listed["kind"], [item["kind"] for item in listed["items"]]) == (
        "List",
        ["Experiment", "Service", "Pod", "Pod"],
    )


@pytest.mark.parametrize(
    ("selection", "ranks"),
    [
        ((), [0, 1, 2, 3, 4]),
        (("--group", "learner"), [4]),
        (("--rank", 0, "--rank", 3), [0, 3]),
        (("--group", "actor", "--rank", 1), [1]),
    ],
)
def test_groups_and_ranks_select_pods(call: Call, selection: tuple[object, ...], ranks: list[int]) -> None:
    shown = documents(call("render", "-", *selection, input=JOBSET).stdout)
    assert [item["kind"] for item in shown[:2]] == ["Experiment", "Service"]
    assert [int(pod["metadata"]["labels"]["muster.dev/rank"]) for pod in shown[2:]] == ranks


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (("--group", "head"), "there is no group 'head'; this experiment has actor, learner"),
        (("--rank", 5), "there is no rank 5; this experiment has 5, counted from 0"),
        (("--group", "learner", "--rank", 0), "none of these ranks is in these groups"),
    ],
)
def test_a_selection_of_nothing_is_a_usage_error(call: Call, selection: tuple[object, ...], message: str) -> None:
    assert message in stderr_of(call, 2, "render", "-", *selection, input=JOBSET)


def test_errors_are_those_of_lint(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(MANIFEST.replace("count: 2", "count: none"))
    assert stderr_of(call, 2, "render", file) == call("lint", file).stdout


def test_the_claim_of_a_shared_volume_comes_before_the_pods_that_mount_it(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "volume.yaml"
    file.write_text(MANIFEST + "  storage:\n    sharedVolume: {mountPoint: /data, sizeGB: 1}\n")
    objects = [each for each in yaml.safe_load_all(call("render", file).stdout) if each]
    kinds = [each["kind"] for each in objects]
    assert kinds[:4] == ["Experiment", "Service", "PersistentVolumeClaim", "Pod"]
    (volume,) = objects[3]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == objects[2]["metadata"]["name"]


def test_a_name_that_no_pod_can_bear_is_refused(call: Call, manifest: Path) -> None:
    assert "metadata.name" in stderr_of(call, 2, "render", manifest, "--name", "My run")
