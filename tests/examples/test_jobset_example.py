"""The example of AIchor's operators page: what each of its 25 pods finds in the six variables of a jobset."""

from muster.api.manifest.experiment import parse_experiment
from muster.kinds.experiments import plan_of
from muster.reconcilers.render.pod import render_pod
from tests.examples.table import BY_NAME

VARIABLES = (
    "REPLICATED_JOB_NAME", "REPLICATED_JOB_REPLICAS", "JOB_INDEX", "JOB_COMPLETION_INDEX", "JOB_GLOBAL_INDEX",
    "GLOBAL_REPLICAS",
)  # fmt: skip
JOBS = (("master", 1, 1), ("worker", 5, 4), ("worker-2", 1, 4))
"""Each type with its jobs and the pods of a job: 25 pods of 7 jobs."""
PLACES = [
    (name, jobs, job, pod, first + job)
    for first, (name, jobs, pods) in zip((0, 1, 6), JOBS, strict=True)
    for job in range(jobs)
    for pod in range(pods)
]

METADATA = {"uid": "u", "name": "run", "namespace": "team", "generation": 1, "resourceVersion": "1"}
SPEC = BY_NAME["jobset"].document(BY_NAME["jobset"].path.parent)["spec"]
PLAN = plan_of(parse_experiment({"metadata": METADATA, "spec": SPEC}))
MEMBERS = {f"{each.group}-{each.job}-{each.pod}": each for each in PLAN.members()}


def test_each_pod_finds_its_place_in_its_six_variables() -> None:
    assert list(MEMBERS) == [f"{name}-{job}-{pod}" for name, _, job, pod, _ in PLACES]
    for (key, member), (name, *numbers) in zip(MEMBERS.items(), PLACES, strict=True):
        (container,) = render_pod(PLAN, member, 0)["spec"]["containers"]
        found = {env["name"]: env["value"] for env in container["env"]}
        assert [found[variable] for variable in VARIABLES] == [name, *map(str, numbers), "7"]
        assert render_pod(PLAN, member, 0)["metadata"]["name"].startswith(f"run-{key}-")


def test_a_job_runs_as_many_pods_at_a_time_as_its_parallelisms() -> None:
    assert {group.name: group.at_a_time for group in PLAN.groups} == {"master": 1, "worker": 10, "worker-2": 1}
