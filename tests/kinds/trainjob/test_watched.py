"""TrainJobs of Kubeflow Trainer: the pods of the JobSet that it makes of the TrainJob and its runtime."""

import asyncio
from typing import Any

import pytest

from muster.api.conditions import ConditionType
from muster.client.watched import look, read
from muster.kinds.jobset import watched as jobset
from muster.kinds.registry import WATCHED_KINDS
from muster.kinds.trainjob.watched import joined
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase
from tests.daemon.watched.world import World, virtually

KIND = WATCHED_KINDS["trainjobs"]
PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/tune"
JOBSET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/tune"
OWNER = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "name": "tune",
    "uid": "t-1",
    "controller": True,
    "blockOwnerDeletion": True,
}
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def part(name: str, pods: int = 1, after: tuple[str, ...] = (), step: str = "") -> dict[str, Any]:
    """A replicated job as Trainer makes it: parallelism and completions are the nodes."""
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "backoffLimit": 0}
    template = {"metadata": {"labels": {STEP: step} if step else {}}, "spec": spec}
    waits = [{"name": each, "status": "Complete"} for each in after]
    return {"name": name, "replicas": 1, "template": template} | ({"dependsOn": waits} if waits else {})


NODES = (part("node", 3, step="trainer"),)
LAUNCHER_IS_NODE = (part("launcher", step="trainer"), part("node", 2))
LAUNCHER = (part("launcher"), part("node", 2, step="trainer"))
DATA, MODEL = "dataset-initializer", "model-initializer"
INITIALIZED = (part(DATA, step=DATA), part(MODEL, step=MODEL), part("node", 2, (DATA, MODEL), "trainer"))


def a_trainjob(runtime: str = "torch-distributed", **trainer: Any) -> dict[str, Any]:
    metadata = {"name": "tune", "namespace": "team", "uid": "t-1", "resourceVersion": "1"}
    return {"kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": {"name": runtime}, "trainer": trainer}}


def a_jobset(*parts: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "tune", "namespace": "team", "uid": "s-1", "resourceVersion": "1", "ownerReferences": [OWNER]}
    return {"kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": list(parts), "suspend": False}}


def planned(obj: dict[str, Any], *parts: dict[str, Any]) -> Plan:
    return joined(KIND.plan_of(obj), jobset.plan_of(a_jobset(*parts)))


@pytest.mark.parametrize(
    ("parts", "places", "expected"),
    [
        (NODES, [("node", 0, 3)], 3),
        (LAUNCHER_IS_NODE, [("launcher", 0, 1), ("node", 1, 2)], 3),
        (LAUNCHER, [("launcher", 0, 1), ("node", 1, 2)], 3),
        (INITIALIZED, [("node", 0, 2), (DATA, 2, 1), (MODEL, 3, 1)], 2),
    ],
)
def test_the_members_are_the_pods_of_its_jobset_and_initializers_have_the_last_ranks(
    parts: tuple[dict[str, Any], ...], places: list[tuple[str, int, int]], expected: int
) -> None:
    plan = planned(a_trainjob(), *parts)
    assert [(each.name, each.first_rank, each.size) for each in plan.groups] == places
    assert (plan.title, plan.expected) == ("trainjob/tune", expected)


def test_initializers_that_wait_for_each_other_are_all_before_the_nodes_and_what_follows_them_is_not() -> None:
    parts = (part("data"), part("tokens", after=("data",)), part("node", 2, ("tokens",)), part("eval", after=("node",)))
    plan = planned(a_trainjob(), *parts)
    assert [each.name for each in plan.groups] == ["node", "eval", "data", "tokens"]
    loop = (part("a", after=("b",)), part("b", after=("a",)), part("node", 2, ("a",)))
    assert [each.name for each in planned(a_trainjob(), *loop).groups] == ["node", "a", "b"]


def test_a_roll_is_asked_of_several_nodes_though_the_trainjob_leaves_their_number_to_its_runtime() -> None:
    several = planned(a_trainjob(), *NODES).asked
    assert several is not None
    assert (several.rank, several.probe) == (0, ProbeKind.TORCH)
    assert planned(a_trainjob(), part("node")).asked is None
    assert planned(a_trainjob(), part(DATA), part("node", 1, (DATA,))).asked is None, "the initializer does not call"


def pod(world: World, group: str, index: int = 0, **more: Any) -> str:
    labels = {jobset.LABEL: "tune", f"{jobset.PREFIX}replicatedjob-name": group, f"{jobset.PREFIX}job-index": "0"}
    labels |= {f"{jobset.PREFIX}jobset-uid": "s-1", "batch.kubernetes.io/job-completion-index": str(index)}
    name = f"tune-{group}-0-{index}"
    world.pod(name, labels=labels, ip=f"10.0.{len(group)}.{index + 1}", **more)
    return name


def cannot_pull(world: World, name: str) -> None:
    found = world.api.objects[f"/api/v1/namespaces/team/pods/{name}"]
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "data:9"'}
    states = [{"name": "init", "ready": False, "restartCount": 0, "state": {"waiting": waiting}}]
    conditions = [{"type": "PodScheduled", "status": "True"}]
    status = {"phase": "Pending", "containerStatuses": states, "conditions": conditions}
    world.api.put(f"/api/v1/namespaces/team/pods/{name}", {**found, "status": status})


async def begun(world: World, *parts: dict[str, Any], kinds: str = "all", runtime: str = "mpi-distributed") -> None:
    world.serve("trainjobs")
    world.serve("jobsets")
    await world.daemon(kinds)
    world.api.put(PATH, a_trainjob(runtime))
    world.api.put(JOBSET, a_jobset(*parts))


def stuck(world: World) -> str:
    found = world.found("trainjob/tune").record.condition(ConditionType.STUCK)
    return f"{found.reason}: {found.message}" if found is not None and found.status else ""


@pytest.mark.parametrize("kinds", ["all", "trainjobs"])
@virtually
async def test_a_node_beyond_the_first_is_named_though_the_trainjob_states_no_number(world: World, kinds: str) -> None:
    await begun(world, *NODES, kinds=kinds)
    for index in range(3):
        pod(world, "node", index)
    await asyncio.sleep(3)
    assert world.titles() == ["trainjob/tune"]
    assert world.found("trainjob/tune").record.message == "3/3 members are ready"
    world.end("tune-node-0-2", 3)
    await asyncio.sleep(3)
    assert "rank 2 (tune-node-0-2) ended with exit code 3" in world.found("trainjob/tune").record.message


@virtually
async def test_a_launcher_that_cannot_pull_its_image_is_named(world: World) -> None:
    await begun(world, *LAUNCHER)
    pod(world, "node", 0)
    pod(world, "node", 1)
    cannot_pull(world, pod(world, "launcher"))
    await asyncio.sleep(90)
    assert stuck(world).startswith(
        "ImagePullBackOff: 2/3 programs have started; rank 0 (launcher-0, tune-launcher-0-0, "
    )


@virtually
async def test_nodes_wait_for_initializers_for_any_time_and_those_that_fail_are_named(world: World) -> None:
    await begun(world, *INITIALIZED, runtime="torch-distributed")
    pod(world, DATA)
    model = pod(world, MODEL)
    await asyncio.sleep(1800)
    record = world.found("trainjob/tune").record
    assert (record.reason, stuck(world)) == ("AwaitingGroup", "")
    assert "group node waits until dataset-initializer is complete (0/1 are)" in record.message
    world.end(f"tune-{DATA}-0-0")
    cannot_pull(world, model)
    await asyncio.sleep(90)
    assert stuck(world).startswith(
        f"ImagePullBackOff: 1/4 programs have started; rank 3 (model-initializer-0, {model}, "
    )
    world.end(model, 5)
    await asyncio.sleep(10)
    assert (
        f"rank 3 (model-initializer-0, {model}) ended with exit code 5" in world.found("trainjob/tune").record.message
    )


@virtually
async def test_initializers_that_have_ended_are_missing_from_no_roll(world: World) -> None:
    world.cluster.roll = world.cluster.arrived(0, 1, size=2)
    await begun(world, *INITIALIZED, runtime="jax-distributed")
    for name in (DATA, MODEL):
        pod(world, name)
        world.end(f"tune-{name}-0-0")
    for index in range(2):
        pod(world, "node", index)
    await asyncio.sleep(30)
    record = world.found("trainjob/tune").record
    assert record.roll is not None
    assert (record.phase, record.roll.expected, record.ready, record.size, stuck(world)) == (Phase.RUNNING, 2, 4, 4, "")


@virtually
async def test_what_a_jobset_that_is_gone_again_has_said_stays_known(world: World) -> None:
    """Trainer deletes the JobSet of a TrainJob whose deadline has passed."""
    await begun(world, *NODES)
    for index in range(3):
        pod(world, "node", index)
    await asyncio.sleep(3)
    world.api.remove(JOBSET)
    await asyncio.sleep(3)
    assert world.found("trainjob/tune").plan.size == 3
    world.api.remove(PATH)
    await asyncio.sleep(3)
    assert world.titles() == []


@virtually
async def test_a_jobset_that_cannot_be_read_leaves_the_nodes_that_the_trainjob_states(world: World) -> None:
    await begun(world, part("node", 3), part("node", 3))
    pod(world, "node", 0)
    await asyncio.sleep(3)
    assert world.found("trainjob/tune").plan.size == 1


@virtually
async def test_the_command_line_counts_the_pods_of_the_jobset_too(world: World) -> None:
    await begun(world, *NODES)
    names = [pod(world, "node", index) for index in range(3)]
    raw = [world.api.objects[f"/api/v1/namespaces/team/pods/{name}"] for name in names]
    pods = read(KIND, 0, raw)
    status = look(KIND, a_trainjob(), pods, 0.0, made=a_jobset(*NODES)).status
    assert (status.size, status.ready) == (3, 3)
    assert look(KIND, a_trainjob(), pods, 0.0).status.size == 1
