"""The example of AIchor's operators page: what each of its 25 pods finds in the six variables of a jobset."""

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.kinds.experiments import plan_of
from muster.reconcilers.render.pod import render_pod
from tests.examples.table import BY_NAME

VARIABLES = (
    "REPLICATED_JOB_NAME", "REPLICATED_JOB_REPLICAS", "JOB_INDEX", "JOB_COMPLETION_INDEX", "JOB_GLOBAL_INDEX",
    "GLOBAL_REPLICAS",
)  # fmt: skip
PODS = {
    "master-0-0": ("master", "1", "0", "0", "0", "7"),
    "worker-0-0": ("worker", "5", "0", "0", "1", "7"),
    "worker-0-1": ("worker", "5", "0", "1", "1", "7"),
    "worker-0-2": ("worker", "5", "0", "2", "1", "7"),
    "worker-0-3": ("worker", "5", "0", "3", "1", "7"),
    "worker-1-0": ("worker", "5", "1", "0", "2", "7"),
    "worker-1-1": ("worker", "5", "1", "1", "2", "7"),
    "worker-1-2": ("worker", "5", "1", "2", "2", "7"),
    "worker-1-3": ("worker", "5", "1", "3", "2", "7"),
    "worker-2-0": ("worker", "5", "2", "0", "3", "7"),
    "worker-2-1": ("worker", "5", "2", "1", "3", "7"),
    "worker-2-2": ("worker", "5", "2", "2", "3", "7"),
    "worker-2-3": ("worker", "5", "2", "3", "3", "7"),
    "worker-3-0": ("worker", "5", "3", "0", "4", "7"),
    "worker-3-1": ("worker", "5", "3", "1", "4", "7"),
    "worker-3-2": ("worker", "5", "3", "2", "4", "7"),
    "worker-3-3": ("worker", "5", "3", "3", "4", "7"),
    "worker-4-0": ("worker", "5", "4", "0", "5", "7"),
    "worker-4-1": ("worker", "5", "4", "1", "5", "7"),
    "worker-4-2": ("worker", "5", "4", "2", "5", "7"),
    "worker-4-3": ("worker", "5", "4", "3", "5", "7"),
    "worker-2-0-0": ("worker-2", "1", "0", "0", "6", "7"),
    "worker-2-0-1": ("worker-2", "1", "0", "1", "6", "7"),
    "worker-2-0-2": ("worker-2", "1", "0", "2", "6", "7"),
    "worker-2-0-3": ("worker-2", "1", "0", "3", "6", "7"),
}
"""By type, job and pod, as in the names of the pods."""

METADATA = {"uid": "u", "name": "run", "namespace": "team", "generation": 1, "resourceVersion": "1"}
SPEC = BY_NAME["jobset"].document(BY_NAME["jobset"].path.parent)["spec"]
PLAN = plan_of(parse_experiment({"metadata": METADATA, "spec": SPEC}))
MEMBERS = {f"{each.group}-{each.job}-{each.pod}": each for each in PLAN.members()}


def test_the_example_has_these_pods_and_no_others() -> None:
    assert list(MEMBERS) == list(PODS)
    assert sum(name.rpartition("-")[0].rpartition("-")[0] == "worker" for name in MEMBERS) == 20


@pytest.mark.parametrize("name", PODS)
def test_a_pod_finds_its_place_in_its_six_variables(name: str) -> None:
    (container,) = render_pod(PLAN, MEMBERS[name], 0)["spec"]["containers"]
    found = {env["name"]: env["value"] for env in container["env"]}
    assert tuple(found[variable] for variable in VARIABLES) == PODS[name]
    assert render_pod(PLAN, MEMBERS[name], 0)["metadata"]["name"].startswith(f"run-{name}-")


def test_a_job_runs_as_many_pods_at_a_time_as_its_parallelisms() -> None:
    assert {group.name: group.at_a_time for group in PLAN.groups} == {"master": 1, "worker": 10, "worker-2": 1}
