"""Deadlines that a watched object itself asks for: first announced, then carried out in its own way, on one version."""

import asyncio
from typing import Any

from structlog.testing import capture_logs

from muster.api.errors import ApiError, Forbidden, NotFound
from muster.state.vocabulary.record import Phase
from tests.daemon.watched.test_jobs import JAXJOB, JOB, OBSERVE, over, pod
from tests.daemon.watched.world import PODS, World, virtually, virtually_with_writes


def job(world: World, *, status: Any = None, spec: Any = None, **annotations: str) -> None:
    stated = {f"muster.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    own = {"namespace": "team", "uid": "job-1", "labels": OBSERVE, "annotations": stated}
    usual = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    world.api.put(JOB, {"kind": "Job", "metadata": own, "spec": usual | (spec or {}), "status": status or {}})


@virtually_with_writes
async def test_a_job_is_suspended_once_and_an_event_says_so_before(world: World) -> None:
    await world.watches("jobs")
    job(world, total_deadline="1m", on_deadline="suspend")
    pod(world, "train-0-a", 0)
    with capture_logs() as logged:
        await asyncio.sleep(80)  # it is asked again 30 s after the first time
    assert {each["log_level"] for each in logged if each.get("reason") == "DeadlineExceeded"} == {"warning"}
    assert world.api.objects[JOB]["spec"]["suspend"] is True
    assert world.written() == [f"PATCH {JOB}"]
    writes = [each for each in world.api.requests if each.method != "GET"]
    asked = next(each for each in writes if each.path == JOB)
    assert asked.body is not None
    assert asked.body["metadata"].keys() == {"uid", "resourceVersion"}
    said = next(each for each in writes if each.body and each.body.get("reason") == "DeadlineExceeded")
    assert writes.index(said) < writes.index(asked)
    assert said.body is not None
    assert said.body["message"].endswith("the annotation muster.dev/on-deadline asks to suspend it")
    job(
        world,
        spec={"suspend": True},
        status=over("Suspended", "JobSuspended"),
        total_deadline="1m",
        on_deadline="suspend",
    )
    await asyncio.sleep(120)
    assert world.found("job/train").record.phase is Phase.SUSPENDED
    assert len(world.written()) == 1


@virtually_with_writes
async def test_a_jaxjob_whose_own_deadline_does_not_hold_is_ended_by_muster_s(world: World) -> None:
    """Kubeflow checks activeDeadlineSeconds only when something else changes (its issue 3358)."""
    await world.watches("jaxjobs", run_kinds="none")
    annotations = {"muster.dev/total-deadline": "2m", "muster.dev/on-deadline": "delete"}
    spec = {"jaxReplicaSpecs": {"Worker": {"replicas": 2}}, "runPolicy": {"activeDeadlineSeconds": 60}}
    metadata = {"namespace": "team", "annotations": annotations}
    world.api.put(JAXJOB, {"kind": "JAXJob", "metadata": metadata, "spec": spec})
    await asyncio.sleep(100)
    assert world.written() == []
    await asyncio.sleep(40)
    assert world.written() == [f"DELETE {JAXJOB}"]
    assert JAXJOB not in world.api.objects
    assert world.titles() == []


async def labelled_pods_with_a_deadline(world: World) -> None:
    await world.daemon("pods")
    annotations = {"muster.dev/total-deadline": "1m", "muster.dev/on-deadline": "delete", "muster.dev/size": "2"}
    for rank in range(2):
        world.pod(f"run-{rank}", labels={"muster.dev/observe": "run"}, annotations=annotations)


@virtually_with_writes
async def test_labelled_pods_are_deleted_by_uid(world: World) -> None:
    await labelled_pods_with_a_deadline(world)
    world.pod("other-0", labels={"muster.dev/observe": "other"})
    await asyncio.sleep(90)
    assert world.written() == [f"DELETE {PODS}/run-0", f"DELETE {PODS}/run-1"]


@virtually_with_writes
async def test_a_labelled_pod_that_is_gone_does_not_delay_the_end_of_the_others(world: World) -> None:
    await labelled_pods_with_a_deadline(world)
    world.api.fail(f"DELETE {PODS}/run-0", NotFound("gone", status=404))
    world.api.fail(f"DELETE {PODS}/run-1", Forbidden("not on Sundays", status=403))
    with capture_logs() as logged:
        await asyncio.sleep(80)
    (refused,) = (each for each in logged if each["event"] == "request refused")
    assert "delete Pod team/run-1: not on Sundays" in refused["problem"]


@virtually_with_writes
async def test_a_deadline_counts_from_the_start_of_the_run_and_not_of_the_daemon(world: World) -> None:
    world.serve("jobs")
    await asyncio.sleep(10)
    job(world, total_deadline="1h", on_deadline="delete")
    await asyncio.sleep(3500)
    await world.daemon("jobs")
    await asyncio.sleep(60)
    assert world.written() == []
    await asyncio.sleep(60)
    assert world.written() == [f"DELETE {JOB}"]


@virtually_with_writes
async def test_an_end_that_a_webhook_refuses_is_reported_within_seconds_and_follows_when_it_answers(
    world: World,
) -> None:
    await world.watches("jobs")
    down = ApiError('failed calling webhook "mjob.kb.io": connection refused', status=500, reason="InternalError")
    fault = world.api.fail(f"PATCH {JOB}", down, times=1000)
    job(world, total_deadline="1m", on_deadline="suspend")
    await asyncio.sleep(65)
    stuck = world.stuck("job/train")
    assert (stuck.status, stuck.reason) == (True, "WebhookFailed")
    assert "suspend Job team/train" in stuck.message
    await asyncio.sleep(120)
    tries = len(world.written())
    assert tries <= 15, "the pause grows"
    fault.times = 0
    await asyncio.sleep(31)
    assert world.api.objects[JOB]["spec"]["suspend"] is True
    assert len(world.written()) == tries + 1
    assert len([each for each in world.cluster.events() if "asks to suspend it" in each["message"]]) == 1


@virtually
async def test_a_set_of_pods_cannot_be_suspended(world: World) -> None:
    await world.daemon("pods")
    annotations = {"muster.dev/total-deadline": "1m", "muster.dev/on-deadline": "suspend"}
    world.pod("run-0", labels={"muster.dev/observe": "run"}, annotations=annotations)
    await asyncio.sleep(90)
    assert world.titles() == []
