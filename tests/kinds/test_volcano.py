"""Jobs of Volcano: tasks, a queue, and Jobs of Kubernetes of the same name beside them."""

import asyncio
from typing import Any

import pytest

from muster.client.subjects import parse
from muster.kinds import volcano
from muster.kinds.declaration import Place, PlanError, PodFacts
from muster.kinds.registry import WATCHED_KINDS
from muster.state.view.own import OwnVerdict
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.daemon.watched.world import World, virtually

KIND = WATCHED_KINDS["vcjobs"]
PATH = "/apis/batch.volcano.sh/v1alpha1/namespaces/team/jobs/bert"
TASKS = [{"name": "worker", "replicas": 2}, {"name": "master", "replicas": 1}]
OWNER = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "bert", "uid": "u-1", "controller": True}


def a_job(tasks: Any = TASKS, status: Any = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "bert", "namespace": "team", "uid": "u-1"}
    return {"kind": "Job", "metadata": metadata, "spec": {"tasks": tasks, **spec}, "status": status or {}}


def at(phase: str, **more: Any) -> dict[str, Any]:
    return {"state": {"phase": phase, "lastTransitionTime": "2026-01-01T00:00:00Z"}, **more}


def pod(world: World, task: str, index: int, **more: Any) -> None:
    labels = {volcano.LABEL: "bert", volcano.TASK: task, volcano.INDEX: str(index)}
    world.pod(
        f"bert-{task}-{index}", ip=f"10.0.{len(task)}.{index + 1}", labels=labels, ownerReferences=[OWNER], **more
    )


def facts(name: str, labels: dict[str, str], kind: str = "Job") -> PodFacts:
    return PodFacts(name, "team", labels, {}, kind=kind, owner="bert", owner_uid="u-1")


def test_the_place_is_task_and_index_and_older_releases_have_the_index_in_the_name() -> None:
    labels = {volcano.LABEL: "bert", volcano.TASK: "ps"}
    expected = Place("vcjob/bert", "ps", 0, 7, uid="u-1")
    assert volcano.place_of(facts("bert-ps-7", labels)) == expected
    assert volcano.place_of(facts("any", {**labels, volcano.INDEX: "7"})) == expected
    assert volcano.place_of(facts("bert-ps-7", labels, kind="ReplicaSet")) is None
    assert volcano.place_of(facts("bert-7", {volcano.LABEL: "bert"})) is None


def test_the_tasks_are_groups_in_their_order_and_the_master_of_the_plugin_comes_first() -> None:
    plain = KIND.plan_of(a_job())
    found = [(group.name, group.first_rank, group.size) for group in plain.groups]
    assert found == [("worker", 0, 2), ("master", 2, 1)]
    assert plain.asked is None
    plugged = KIND.plan_of(a_job(plugins={"pytorch": ["--port=29500"], "svc": []}))
    assert [group.name for group in plugged.groups] == ["master", "worker"]
    assert plugged.asked is not None
    assert (plugged.operator, plugged.asked.rank, plugged.asked.port) == ("pytorch", 0, 29500)


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([*TASKS, {"name": "watcher", "replicas": 1}], []),
        ([{"name": "master", "replicas": 2}], []),
        (TASKS, ["--master=chief"]),
        (TASKS, ["--port=99999"]),
        (TASKS, ["--port=x"]),
    ],
)
def test_a_plugin_that_does_not_fit_the_tasks_gives_nobody_to_ask(tasks: Any, words: list[str]) -> None:
    assert KIND.plan_of(a_job(tasks, plugins={"pytorch": words})).asked is None


def test_a_task_waits_for_those_that_it_depends_on() -> None:
    depends = {"name": ["worker", "nothing"]}
    _, master = KIND.plan_of(a_job([TASKS[0], {**TASKS[1], "dependsOn": depends}])).groups
    assert master.gates == (Gate(GateCondition.READY, "worker"),)
    either = {"name": ["worker", "ps"], "iteration": "any"}
    _, master = KIND.plan_of(a_job([TASKS[0], {**TASKS[1], "dependsOn": either}])).groups
    assert master.gates == ()


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"tasks": [TASKS[0], TASKS[0]]}, "two have one name"),
        ({"tasks": [{"name": "w", "replicas": 100_001}]}, "more than 100000 pods of the task 'w'"),
        ({"tasks": [{"name": str(n), "replicas": 1} for n in range(1001)]}, "1001 tasks"),
        ({"tasks": {"name": "w"}}, "spec: Expected"),
        ({"plugins": {"pytorch": "--port=1"}}, "spec: Expected"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_its_field(spec: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanError, match=text):
        KIND.plan_of({**a_job(), "spec": spec})


@pytest.mark.parametrize(
    ("status", "text", "message"),
    [
        (None, OwnVerdict.NOTHING, ""),
        (at("Pending", pending=3), OwnVerdict.NOTHING, ""),
        (at("Running", running=3), OwnVerdict.NOTHING, ""),
        (at("Restarting", terminating=3), OwnVerdict.NOTHING, ""),
        (at("Completed", succeeded=3), OwnVerdict.SUCCEEDED, "the Volcano Job is Completed"),
        (at("Completing", succeeded=1), OwnVerdict.SUCCEEDED, "the Volcano Job is Completing"),
        (at("Failed", failed=1, retryCount=3), OwnVerdict.FAILED, "the Volcano Job is Failed after 3 restarts"),
        (at("Terminated"), OwnVerdict.FAILED, "the Volcano Job is Terminated"),
        (at("Aborted"), OwnVerdict.SUSPENDED, "the Volcano Job is Aborted"),
        ({"state": "odd"}, OwnVerdict.NOTHING, ""),
        ({"state": {"phase": 7}}, OwnVerdict.NOTHING, ""),
    ],
)
def test_what_it_says_of_itself(status: Any, text: OwnVerdict, message: str) -> None:
    own = KIND.own_state(a_job(status=status))
    assert (own.verdict, own.message) == (text, message)
    assert (own.finished_at is not None) == text.over


def test_a_job_of_volcano_and_one_of_kubernetes_have_names_of_their_own() -> None:
    assert parse("vcjob/bert")[0] == volcano.VCJOB
    assert parse("vcjobs/bert")[0] == volcano.VCJOB
    assert parse("job/bert")[0].api_version == "batch/v1"
    assert parse("jobs/bert")[0].api_version == "batch/v1"


@virtually
async def test_it_is_watched_beside_a_job_of_that_name(world: World) -> None:
    world.serve("vcjobs")
    world.serve("jobs")
    await world.daemon("all")
    world.api.put(PATH, a_job())
    metadata = {"name": "bert", "namespace": "team", "uid": "u-2", "labels": {"muster.dev/observe": "bert"}}
    world.api.put("/apis/batch/v1/namespaces/team/jobs/bert", {"kind": "Job", "metadata": metadata, "spec": {}})
    for task, index in (("worker", 0), ("worker", 1), ("master", 0)):
        pod(world, task, index)
    await asyncio.sleep(70)
    assert world.titles() == ["job/bert", "vcjob/bert"]
    assert world.found("vcjob/bert").record.message == "3/3 members are ready"
    assert world.found("job/bert").record.message.startswith("0/1 pods exist; rank 0 has no pod")
    world.end("bert-worker-0", 1)
    await asyncio.sleep(2)
    message = world.found("vcjob/bert").record.message
    assert message.startswith("rank 0 (worker-0, bert-worker-0) ended with exit code 1 in container train on node n1")


@virtually
async def test_a_job_that_a_job_of_volcano_controls_is_no_part_of_a_job_of_kubernetes(world: World) -> None:
    """Both controllers are of the kind Job; the API group tells them apart."""
    world.serve("jobs")
    await world.daemon("jobs,pods")
    path = "/apis/batch/v1/namespaces/team/jobs/inner"
    metadata = {"name": "inner", "namespace": "team", "labels": {"muster.dev/observe": "x"}, "ownerReferences": [OWNER]}
    world.api.put(path, {"kind": "Job", "metadata": metadata, "spec": {}})
    await asyncio.sleep(5)
    assert world.titles() == ["job/inner"]


@virtually
async def test_without_room_in_its_queue_it_is_queued_and_not_short_of_pods(world: World) -> None:
    world.serve("vcjobs")
    await world.daemon("all")
    world.api.put(PATH, a_job(status=at("Pending"), queue="research"))
    await asyncio.sleep(400)
    run = world.found("vcjob/bert").record
    assert (run.phase, run.reason) == (Phase.SUSPENDED, "Queued")
    assert run.message.startswith("waits in the queue research of Volcano, which makes no pods")
    assert not any(each.type == "Stuck" and each.status for each in run.conditions)
    for task, index in (("worker", 0), ("worker", 1), ("master", 0)):
        pod(world, task, index)
    world.api.put(PATH, a_job(status=at("Running", running=3), queue="research"))
    await asyncio.sleep(5)
    run = world.found("vcjob/bert").record
    assert (run.phase, run.message) == (Phase.RUNNING, "3/3 members are ready")
