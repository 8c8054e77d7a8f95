"""The reason why pods are not made, in the words of the controller, on a whole daemon."""

import asyncio
from typing import Any

import pytest

from muster.api.errors import Forbidden, Unreachable
from muster.kinds.registry import WATCHED_KINDS
from tests.daemon.watched.world import World, virtually
from tests.watched_samples import SAMPLES

KINDS = [name for name, kind in WATCHED_KINDS.items() if not kind.virtual and name != "vcjobs"]
"""A Volcano Job without pods is queued until its scheduler has let it in."""
LISTS = "GET /api/v1/namespaces/team/events"


async def begun(world: World, name: str) -> None:
    """Start a musterd that has watched over the runs of a kind for more than a minute."""
    world.serve(name)
    await world.daemon()
    await asyncio.sleep(70)


def make(world: World, name: str, status: Any = None) -> dict[str, Any]:
    """Create an object of the kind that no controller makes pods for."""
    kind = WATCHED_KINDS[name]
    version, plural = kind.subject.api_version, kind.subject.plural
    metadata = {"namespace": "team", "labels": {"muster.dev/observe": "yes"}}
    body = {"apiVersion": version, "kind": kind.subject.kind, "metadata": metadata, "spec": SAMPLES[name].spec(2)}
    return world.api.put(f"/apis/{version}/namespaces/team/{plural}/train", {**body, "status": status or {}})


def warn(world: World, about: dict[str, Any], message: str = "exceeded quota", **more: Any) -> None:
    """Let its controller report the reason, now."""
    path = f"/api/v1/namespaces/team/events/{len(world.api.objects)}"
    what = {"kind": about["kind"], "name": about["metadata"]["name"], "uid": about["metadata"]["uid"]}
    body = {"type": "Warning", "reason": "FailedCreate", "message": message, "source": {"component": "its-controller"}}
    times = {"metadata": {"namespace": "team"}, "lastTimestamp": world.api.now()}
    world.api.put(path, {"kind": "Event", **times, **body, "involvedObject": what, **more})


def message(world: World, name: str) -> str:
    return world.found(f"{WATCHED_KINDS[name].subject.word.lower()}/train").record.message


@pytest.mark.parametrize("name", KINDS)
@virtually
async def test_an_event_of_the_object_is_quoted_with_its_age(world: World, name: str) -> None:
    await begun(world, name)
    warn(world, make(world, name))
    await asyncio.sleep(5)
    assert "FailedCreate (its-controller, " in message(world, name)
    assert 's ago): "exceeded quota"' in message(world, name)


@virtually
async def test_an_event_of_the_job_of_a_jobset_is_quoted_with_the_name_of_the_job(world: World) -> None:
    await begun(world, "jobsets")
    make(world, "jobsets")
    warn(world, {"kind": "Job", "metadata": {"name": "train-w-0", "uid": "j"}})
    await asyncio.sleep(5)
    assert 'FailedCreate of Job train-w-0 (its-controller, 4s ago): "exceeded quota"' in message(world, "jobsets")


@virtually
async def test_a_condition_that_complains_is_quoted_where_there_is_no_event(world: World) -> None:
    await begun(world, "trainjobs")
    bad = {"type": "Created", "status": "False", "reason": "JobsCreationFailed", "message": "no runtime"}
    make(world, "trainjobs", {"conditions": [bad]})
    await asyncio.sleep(5)
    assert message(world, "trainjobs").endswith('have no pod; JobsCreationFailed: "no runtime"')


@virtually
async def test_events_are_read_twice_a_minute_while_pods_are_missing_and_not_before_or_after(world: World) -> None:
    await begun(world, "jobsets")
    assert not world.api.asked(LISTS)
    make(world, "jobsets")
    await asyncio.sleep(605)
    lists = world.api.asked(LISTS)
    assert 2 * 20 <= len(lists) <= 2 * 22, "two lists each time: of the JobSet, and of its Job"
    labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "w"}
    labels |= {"jobset.sigs.k8s.io/job-index": "0", "jobset.sigs.k8s.io/restart-attempt": "0"}
    for index in range(2):
        own = {**labels, "batch.kubernetes.io/job-completion-index": str(index)}
        owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "train-w-0", "uid": "j", "controller": True}
        world.pod(f"train-w-0-{index}", labels=own, ownerReferences=[owner])
    await asyncio.sleep(2)
    before = len(world.api.asked(LISTS))
    await asyncio.sleep(600)
    assert len(world.api.asked(LISTS)) == before
    assert "FailedCreate" not in message(world, "jobsets")


@virtually
async def test_a_refusal_is_reported_remembered_and_no_fault_of_the_daemon(world: World) -> None:
    world.serve("jobsets")
    daemon = await world.daemon()
    refused = world.api.fail(LISTS, Forbidden("events is forbidden", status=403, reason="Forbidden"), times=99)
    await asyncio.sleep(70)
    warn(world, make(world, "jobsets"))
    await asyncio.sleep(300)
    assert "musterd may not read: grant it list on events" in message(world, "jobsets")
    assert len(world.api.asked(LISTS)) == 1
    assert not list(daemon.denials.lasting())
    refused.times = 0
    await asyncio.sleep(660)
    assert '"exceeded quota"' in message(world, "jobsets")
    assert "may not read" not in message(world, "jobsets")


@virtually
async def test_what_was_read_stays_with_its_age_while_the_api_server_does_not_answer(world: World) -> None:
    await begun(world, "jobsets")
    warn(world, make(world, "jobsets"))
    await asyncio.sleep(5)
    world.api.fail(LISTS, Unreachable("timed out", status=0, reason="Timeout"), times=99)
    await asyncio.sleep(180)
    assert "m" in message(world, "jobsets").partition("its-controller, ")[2].partition(" ago")[0]
    assert '"exceeded quota"' in message(world, "jobsets")


@virtually
async def test_secrets_of_the_spec_are_removed_from_what_is_quoted(world: World) -> None:
    await begun(world, "jobsets")
    made = make(world, "jobsets")
    env = [{"name": "DB_PASSWORD", "value": "xyz-42-hushhush"}]
    template = {"spec": {"containers": [{"name": "main", "env": env}]}}
    job = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "template": template}
    path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/train"
    world.api.put(path, {**made, "spec": {"replicatedJobs": [{"name": "w", "template": {"spec": job}}]}})
    warn(world, made, 'webhook denied "xyz-42-hushhush"')
    await asyncio.sleep(40)
    assert 'webhook denied "[removed]"' in message(world, "jobsets")


@virtually
async def test_a_run_whose_pods_never_came_is_stuck_at_once_for_a_daemon_that_takes_over(world: World) -> None:
    world.serve("jobsets")
    await asyncio.sleep(20)
    make(world, "jobsets")
    await asyncio.sleep(600)
    await world.daemon()
    await asyncio.sleep(5)
    stuck = world.stuck("jobset/train")
    assert (stuck.status, stuck.reason) == (True, "PodsMissing")
    blocked = world.found("jobset/train").record.blocked
    assert blocked is not None
    assert blocked.since == 20
