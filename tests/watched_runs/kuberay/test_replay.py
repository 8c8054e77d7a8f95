"""Recorded runs of KubeRay: Muster reports what the table in traces/README.md has, in time, and nothing false."""

import re

import pytest

from tests.watched_runs.kuberay.recorded import names, recorded
from tests.watched_runs.kuberay.replay import Story, replay

RUNS = {
    "a": "raycluster/rc-a",
    "b": "raycluster/rc-a",
    "c1": "raycluster/rc-a",
    "c2": "raycluster/rc-a",
    "c3": "raycluster/rc-a",
    "d1": "raycluster/rc-d",
    "e1": "raycluster/rc-a",
    "f": "rayjob/rj-ok",
    "g": "rayjob/rj-fail",
    "h": "rayjob/rj-late",
    "i": "rayjob/rj-susp",
    "k": "rayjob/rj-http",
    "l": "rayjob/rj-sidecar",
    "l2": "rayjob/rj-side2",
}
STALE = re.compile(r"(?:rank|ranks) ([0-9, -]+): known only to the coordinator that ran before this one")


def story(name: str) -> Story:
    return replay(name, RUNS[name])


def test_every_recorded_scenario_is_replayed() -> None:
    assert [name.partition("-")[0] for name in names()] == sorted(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_written(name: str) -> None:
    assert story(name).written == ()


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ("c1", "c3", "d1", "l")])
def test_nothing_is_called_stuck_that_goes_on(name: str) -> None:
    assert story(name).stuck() == []


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ("g", "h")])
def test_nothing_is_called_failed_that_did_not_fail(name: str) -> None:
    assert "Failed" not in story(name).phases()


def stale_ranks(message: str) -> str:
    """The ranks that a sentence calls stale."""
    found = STALE.search(message)
    return found[1] if found else ""


# --- clusters ----------------------------------------------------------------------------------------------------


def test_a_cluster_is_complete_when_its_nodes_have_joined_and_before_its_pods_are_ready() -> None:
    seen = story("a")
    assert seen.phases() == ["Pending", "Assembling", "Running"]
    assert seen.first("4/4 ranks arrived") == pytest.approx(17.0, abs=0.2)
    assert seen.first("4/4 ranks arrived") < recorded("a").mark("seen: status.state=ready")


def test_a_worker_that_was_killed_for_memory_is_named_while_it_starts_again() -> None:
    seen, killed = story("b"), recorded("b").mark("fault: ray container of worker")
    ended = "ray-worker ended with exit code 137 (SIGKILL), OOMKilled"
    named = f"rank 2 (rc-a-small-worker-x8lzl): {ended}, started again in its pod once"
    assert killed < seen.first(named) <= killed + 2
    assert seen.at(32.5).message.startswith("4/4 ranks arrived; rank 2 ")


def test_an_eviction_that_shows_for_13_milliseconds_is_kept_as_an_event() -> None:
    ((at, message),) = [(at, text) for at, reason, text in story("b").events if reason == "MemberFailed"]
    assert at == pytest.approx(recorded("b").mark("fault: worker"), abs=0.2)
    assert message.startswith("rank 3 (big-0, rc-a-big-worker-526tn) ended with exit code 137 (SIGKILL), Evicted in ")
    assert " in container ray-worker on node r2" in message
    assert "The node was low on resource: memory" in message


def test_a_worker_that_is_replaced_is_the_same_member() -> None:
    assert story("b").at(16.0).message == "4/4 ranks arrived"
    assert {each.epoch for each in story("b").seen} == {0}


def test_workers_of_a_head_whose_container_was_killed_are_named_until_they_join() -> None:
    seen, killed = story("c1"), recorded("c1").mark("fault")
    assert seen.first("rank 0 (rc-a-head-kkgmg), is not ready, and does not answer") <= killed + 2
    assert "ray-head ended with exit code 137 (SIGKILL), started again in its pod once" in seen.at(10.5).message
    stale = seen.first("known only to the coordinator that ran before this one")
    assert stale == pytest.approx(13.1, abs=0.3), "as soon as the new GCS answers"
    assert (seen.at(stale).reason, stale_ranks(seen.at(stale).message)) == ("StaleMembers", "1-3")
    assert any(reason == "StaleMembers" and stale_ranks(text) == "1-3" for _, reason, text in seen.events)
    assert [stale_ranks(seen.at(at).message) for at in (17.0, 31.0, 40.0, 48.0)] == ["1-3", "2-3", "3", ""]
    assert seen.first("4/4 ranks arrived", since=stale) == pytest.approx(55.1, abs=4.0)
    assert seen.stuck() == [(pytest.approx(12.1, abs=0.2), "CoordinatorUnreachable")]


def test_workers_of_a_head_whose_pod_was_deleted_are_named_while_kuberay_calls_all_ready() -> None:
    seen = story("c2")
    assert seen.first("rank 0 (rc-a-head-kkgmg), is being deleted") == pytest.approx(4.9, abs=0.3)
    assert seen.first("rank 0 (rc-a-head-w8d4v), is not ready, and does not answer") == pytest.approx(7.0, abs=0.2)
    assert seen.first("known only to the coordinator that ran before") == pytest.approx(12.0, abs=0.3)
    between = seen.at(30.0)
    assert (between.reason, stale_ranks(between.message)) == ("StaleMembers", "1-3")
    cluster = [change.object["status"] for change in recorded("c2").of("RayCluster") if change.at < 30.0][-1]
    head = next(each for each in cluster["conditions"] if each["type"] == "HeadPodReady")
    assert (cluster["state"], cluster["readyWorkerReplicas"], head["status"]) == ("ready", 3, "True")
    assert seen.seen[-1].message.startswith("4/4 ranks arrived; rank 3 ")


def test_a_frozen_gcs_is_stuck_within_ten_seconds() -> None:
    seen, frozen = story("c3"), recorded("c3").mark("fault: gcs_server stopped")
    ((at, reason),) = seen.stuck()
    assert reason == "CoordinatorUnreachable"
    assert frozen < at <= frozen + 10
    assert "the GCS does not answer: 503" in seen.at(at).message
    assert seen.at(recorded("c3").mark("fault ends") + 4.5).message.startswith("4/4 ranks arrived; rank 3 ")


def test_while_the_gcs_is_frozen_it_is_not_known_who_has_arrived() -> None:
    seen, frozen, healed = (
        story("c3"),
        recorded("c3").mark("fault: gcs_server stopped"),
        recorded("c3").mark("fault ends"),
    )
    assert seen.arrived_at(frozen) == 4
    assert seen.arrived_at(frozen + 10) is None
    assert seen.arrived_at(healed - 1) is None
    assert "4/4 ranks had arrived" in seen.at(frozen + 10).message
    assert seen.arrived_at(healed + 4.5) == 4


def test_a_group_without_its_image_and_one_without_a_node_are_named_at_once() -> None:
    seen = story("d1")
    assert seen.first("rank 2 (pull-0, rc-d-pull-worker-5klvv, Pending: ImagePullBackOff") == pytest.approx(
        2.0, abs=0.2
    )
    assert seen.first("rank 3 (huge-0, rc-d-huge-worker-2xzlb, Pending: Unschedulable, 0/6 nodes are available") < 2.5
    assert seen.stuck() == [(pytest.approx(17.0, abs=0.3), "ImagePullBackOff")]


def test_a_suspension_says_which_pods_still_run_and_a_resumption_begins_anew() -> None:
    seen = story("e1")
    assert seen.phases() == ["Running", "Suspended", "Pending", "Assembling", "Running"]
    assert "the RayCluster is suspended; 4 pods still run" in seen.at(3.9).message
    assert seen.at(11.0).message == "the RayCluster is suspended"
    assert not seen.at(20.0).message.startswith("4/4"), "what the head before the suspension said is forgotten"
    assert seen.seen[-1].message.startswith("4/4 ranks arrived; rank 3 ")


# --- jobs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "at"), [("f", 24.8), ("k", 29.3), ("l2", 38.5)])
def test_a_job_succeeds_when_kuberay_says_so(name: str, at: float) -> None:
    seen = story(name)
    assert seen.phases() == ["Pending", "Assembling", "Running", "Succeeded"]
    assert seen.first("Succeeded JobSucceeded") == pytest.approx(at, abs=0.3)


def test_a_program_that_failed_is_reported_before_its_submitter_has_noticed() -> None:
    seen = story("g")
    failed = "the RayJob reports JobFailed: Job entrypoint command failed with exit code 1"
    assert seen.first(failed) == pytest.approx(24.2, abs=0.2)
    submitter = [change for change in recorded("g").of("Pod") if change.object["metadata"]["name"] == "rj-fail-97nvm"]
    assert submitter[-1].object["status"]["phase"] == "Succeeded"


def test_the_reason_of_an_attempt_that_is_retried_stays_as_the_cause() -> None:
    seen = story("g")
    assert seen.phases()[-1] == "Failed"
    assert [each.epoch for each in seen.seen][-1] == 1
    ended = "its controller ended epoch 0: JobFailed: Job entrypoint command failed with exit code 1"
    assert ("RestartedByController", ended) in [(reason, text) for _, reason, text in seen.events]
    assert "2 pods still run (first: rj-fail-4bnqp-head-7k5fs)" in seen.at(31.2).message
    assert seen.at(56.0).message == "Job entrypoint command failed with exit code 1"


def test_after_a_deadline_the_status_of_the_program_is_not_believed() -> None:
    last = next(each for each in story("h").seen if each.phase == "Failed")
    assert (last.phase, last.reason) == ("Failed", "DeadlineExceeded")
    assert last.at == pytest.approx(47.8, abs=0.2)
    assert last.message.endswith("the program was RUNNING then and is not stopped before its RayCluster is deleted")
    later = story("h").at(58.0)
    assert later.phase == "Failed"
    left = "3 pods still run (first: rj-late-mz8hv), and what they hold is not free; RayCluster rj-late-qlhqk is due"
    assert f"{left} to be deleted at 2026-11-22T00:47:55Z (ttlSecondsAfterFinished: 10)" in later.message
    assert "1 pod still runs (rj-late-mz8hv)" in story("h").at(62.0).message, "the others are being deleted since then"
    final = list(recorded("h").of("RayJob"))[-1].object["status"]
    assert (final["jobDeploymentStatus"], final["jobStatus"]) == ("Failed", "RUNNING")


def test_suspended_says_how_many_pods_still_run() -> None:
    seen = story("i")
    assert "the RayJob is suspended; 3 pods still run" in seen.at(24.0).message
    assert "1 pod still runs (rj-susp-54ht8-head-q4dnj), and what it holds is not free" in seen.at(35.0).message
    assert "still runs" not in seen.at(39.0).message
    assert [reason for _, reason, _ in seen.events].count("RestartedByController") == 0
    assert seen.seen[-1].phase == "Succeeded"
    assert {each.epoch for each in seen.seen} == {0, 1}


def test_a_program_that_succeeded_behind_a_job_that_initializes_for_ever_is_stuck() -> None:
    seen = story("l")
    said = "job rj-sidecar-6pf7b SUCCEEDED: Job finished successfully.; the RayJob still reports Initializing"
    assert seen.first(said) == pytest.approx(27.0, abs=0.5)
    assert seen.stuck() == [(pytest.approx(47.0, abs=0.5), "StatusIsFalse")]
    assert seen.seen[-1].stuck == "StatusIsFalse"
