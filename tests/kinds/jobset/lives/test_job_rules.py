"""What follows the failure of a pod of a JobSet, by the rules that stand for its Job."""

import re
from typing import Any

import pytest

from muster.api.causes import Cause
from muster.api.gang import MAX_ATTEMPTS
from muster.state.facts.sentences import sentence
from muster.state.vocabulary.rules import ClockName
from tests.builders import clock_ends
from tests.kinds.jobset.jobsets import job, jobset
from tests.kinds.jobset.lives.cluster import Cluster

NEVER = {"restartPolicy": "Never"}
RESTARTING = "RestartingJobSet"


def cluster(pods: int = 2, *, pod: dict[str, Any] = NEVER, rules: list[dict[str, Any]] = [], **inside: Any) -> Cluster:  # noqa: B006
    """One Job of so many pods. A rule that names why it failed restarts the JobSet."""
    inside = {"completions": pods, "parallelism": pods} | inside
    policy = {"maxRestarts": 5, "rules": rules}
    return Cluster(jobset(job(job=inside, pod=pod), failurePolicy=policy))


def because(reason: str, pattern: str = "") -> list[dict[str, Any]]:
    """A rule called ``seen`` for that failure of a Job."""
    rule: dict[str, Any] = {"name": "seen", "action": "RestartJobSet", "onJobFailureReasons": [reason]}
    return [{**rule, "onJobFailureMessagePatterns": [f"^{pattern}$"]} if pattern else rule]


def failed_so(seen: Cluster) -> bool:
    return seen.condition(RESTARTING) == ("True", "FailurePolicy_seen")


def test_a_failed_pod_is_replaced_after_a_growing_pause() -> None:
    seen = cluster(backoffLimit=2)
    seen.run()
    seen.fail("w", 0, 1)
    assert [pod.attempt for pod in seen.of("w")] == [0], "the other pod runs on"
    seen.step(8)
    assert len(seen.of("w")) == 1
    seen.step(2)
    assert [pod.attempt for pod in seen.of("w")] == [0, 1]
    seen.run()
    seen.fail("w", 0, 0)
    seen.step(10)
    assert len(seen.of("w")) == 1, "the second failure of the Job waits twice as long"
    seen.step(10)
    assert [pod.attempt for pod in seen.of("w")] == [1, 1]
    assert seen.status["restarts"] == 0


def test_one_failure_more_than_the_backoff_limit_fails_the_job() -> None:
    seen = cluster(backoffLimit=1, rules=because("BackoffLimitExceeded", "Job has reached the specified backoff limit"))
    seen.fail("w", 0, 0)
    seen.step(10)
    assert seen.status["restarts"] == 0
    seen.fail("w", 0, 1)
    assert failed_so(seen)


def test_failures_of_one_moment_are_counted_together() -> None:
    seen = cluster(backoffLimit=1, rules=because("BackoffLimitExceeded"))
    seen.fail("w", 0, 0, 1)
    assert failed_so(seen)


def test_failures_are_counted_anew_after_a_restart() -> None:
    seen = cluster(backoffLimit=1)
    seen.fail("w", 0, 0, 1)
    assert (seen.status["restarts"], seen.kept.job_restarts) == (1, ())
    seen.fail("w", 0, 0)
    assert seen.status["restarts"] == 1


def test_a_lost_pod_is_replaced_and_counted() -> None:
    seen = cluster(backoffLimit=1)
    seen.run()
    seen.lose("w", 0, 1)
    seen.step(10)
    assert [pod.attempt for pod in seen.of("w")] == [0, 1]
    seen.run()
    seen.lose("w", 0, 0)
    assert seen.status["restarts"] == 1


def policy(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"podFailurePolicy": {"rules": list(rules)}}


def codes(operator: str, *values: int, **more: str) -> dict[str, Any]:
    return {"onExitCodes": {"operator": operator, "values": list(values), **more}}


FAIL = {"action": "FailJob"}
DISRUPTED = {"onPodConditions": [{"type": "DisruptionTarget"}]}
NAMED = r"Container main for pod default/t-w-0-1-\w{5} failed with exit code 3 matching FailJob rule at index 0"
EVICTED = r"Pod default/t-w-0-1-\w{5} has condition DisruptionTarget matching FailJob rule at index 0"
SIDE = {**NEVER, "containers": [{"name": "main", "image": "i"}, {"name": "side", "image": "i"}]}


@pytest.mark.parametrize(
    ("inside", "code", "failed"),
    [
        pytest.param(policy({**FAIL, **codes("In", 3, 4)}), 3, because("PodFailurePolicy", NAMED), id="its exit code"),
        pytest.param(policy({**FAIL, **DISRUPTED}), 143, because("PodFailurePolicy", EVICTED), id="its condition"),
        pytest.param(policy({**FAIL, **codes("NotIn", 3)}), 5, because("PodFailurePolicy"), id="not in"),
        pytest.param(policy({**FAIL, **codes("NotIn", 3)}), 3, None, id="not in: it is"),
        pytest.param(policy({**FAIL, **codes("In", 3, containerName="side")}), 3, None, id="another container"),
        pytest.param(
            {"backoffLimit": 0, **policy({**FAIL, **codes("In", 3, 4)})},
            5,
            because("BackoffLimitExceeded"),
            id="an exit code of no rule counts",
        ),
        pytest.param(
            {"backoffLimit": 0, **policy({"action": "Count", **codes("In", 3)}, {**FAIL, **codes("NotIn", 4)})},
            3,
            because("BackoffLimitExceeded"),
            id="a later rule does not judge it",
        ),
    ],
)
def test_fail_job_names_the_exit_code_or_the_condition_and_judges_nothing_else(
    inside: dict[str, Any], code: int, failed: list[dict[str, Any]] | None
) -> None:
    seen = cluster(pod=SIDE if "side" in str(inside) else NEVER, **inside, rules=failed or [])
    seen.fail("w", 0, 1, code=code, disruption="EvictionByEvictionAPI" if code == 143 else "")
    assert seen.status["restarts"] == (failed is not None)
    assert failed is None or failed_so(seen)


def test_ignored_failures_are_replaced_and_not_counted() -> None:
    seen = cluster(backoffLimit=0, **policy({"action": "Ignore", **DISRUPTED}))
    for attempt in (1, 2, 3):
        seen.fail("w", 0, 0, code=143, disruption="PreemptionByScheduler")
        seen.step(600)
        assert [pod.attempt for pod in seen.of("w", 0, 0)] == [attempt]
    assert (seen.status["restarts"], seen.kept.job_restarts) == (0, ())


def test_a_pod_whose_containers_would_be_restarted_is_replaced_and_a_limit_of_n_is_n_runs() -> None:
    seen = cluster(pod={}, backoffLimit=3, rules=because("BackoffLimitExceeded"))
    for attempt in (1, 2):
        seen.run()
        seen.fail("w", 0, 0)
        seen.step(600)
        assert [pod.attempt for pod in seen.of("w")] == [attempt, 0]
    seen.run()
    seen.fail("w", 0, 1)
    assert failed_so(seen)


@pytest.mark.parametrize("limit", [0, 1])
def test_without_a_second_run_the_first_failure_of_such_a_pod_fails_the_job(limit: int) -> None:
    seen = cluster(pod={}, backoffLimit=limit)
    seen.run()
    seen.fail("w", 0, 0)
    assert seen.status["restarts"] == 1


def test_a_job_that_takes_too_long_fails() -> None:
    why = because("DeadlineExceeded", "Job was active longer than specified deadline: .*")
    seen = cluster(activeDeadlineSeconds=60, rules=why)
    seen.run()
    assert seen.wake_at == (seen.kept.epoch_at or 0) + 60
    seen.step(59)
    assert seen.status["restarts"] == 0
    seen.step(1)
    assert failed_so(seen)
    seen.step(59)
    assert seen.status["restarts"] == 1, "it runs anew from the restart"


def test_the_time_of_a_job_that_has_succeeded_is_over() -> None:
    jobs = job("a", job={"activeDeadlineSeconds": 60}, pod=NEVER), job("b", pod=NEVER)
    seen = Cluster(jobset(*jobs, failurePolicy={"maxRestarts": 1}))
    seen.run("a")
    seen.run("b")
    assert clock_ends(seen.plan, seen.kept).keys() == {ClockName.RUN}
    seen.succeed("a")
    seen.step(600)
    assert (seen.status["restarts"], seen.counts("b")) == (0, "active 1 ready 1")
    seen.step(600)
    assert clock_ends(seen.plan, seen.kept) == {}, "pages and metrics have no clock that is over"


def test_a_rule_for_other_jobs_does_not_judge_a_job_that_takes_too_long() -> None:
    inside = {"activeDeadlineSeconds": 60}
    rules = [{"action": "FailJobSet", "targetReplicatedJobs": ["b"]}]
    jobs = job("a", job=inside, pod=NEVER, replicas=2), job("b", pod=NEVER)
    seen = Cluster(jobset(*jobs, failurePolicy={"maxRestarts": 1, "rules": rules}))
    seen.run("a")
    seen.succeed("a", 0)
    seen.step(60)
    assert seen.status["restarts"] == 1
    assert seen.message("RestartingJobSet").endswith("(first failed job: t-a-1)")


def test_pods_are_started_in_turn() -> None:
    seen = cluster(5, parallelism=2)
    assert [pod.index for pod in seen.of("w")] == [0, 1]
    seen.run()
    assert seen.counts() == "active 1 ready 1"
    seen.succeed("w", 0, 0)
    assert [pod.index for pod in seen.of("w")] == [0, 1, 2]
    for _ in range(4):
        seen.succeed("w")
    assert seen.condition("Completed") == ("True", "AllJobsCompleted")


def test_a_restart_of_one_job_runs_its_finished_pods_again() -> None:
    inside = {"completions": 2, "parallelism": 2, "backoffLimit": 0}
    rule = {"action": "RestartJob"}
    jobs = job(job=inside, pod=NEVER, replicas=2)
    seen = Cluster(jobset(jobs, failurePolicy={"maxRestarts": 1, "rules": [rule]}))
    seen.succeed("w", 0, 0)
    seen.fail("w", 0, 1)
    assert [pod.attempt for pod in seen.of("w", 0)] == [1, 1]
    assert seen.counts().startswith("active 2 job")
    seen.succeed("w")
    assert seen.condition("Completed") == ("True", "AllJobsCompleted")


def test_more_back_offs_than_the_status_holds_restart_the_jobset() -> None:
    seen = cluster(300, backoffLimit=1000)
    for index in range(MAX_ATTEMPTS + 8):
        seen.fail("w", 0, index)
    assert seen.status["restarts"] == 1
    assert "restartsCountTowardsMax" not in seen.status
    assert len(seen.kept.attempts) < MAX_ATTEMPTS


def test_a_pod_that_went_while_no_daemon_ran_counts_as_failed() -> None:
    """As with the Job controller, whose finalizer keeps such a pod until it has been counted."""
    seen = cluster(backoffLimit=1, rules=because("BackoffLimitExceeded"))
    seen.run()
    seen.lose_unseen("w", 0, 1)
    assert [pod.attempt for pod in seen.of("w")] == [0], "the next pod waits for the back-off of the Job"
    seen.step(10)
    assert [pod.attempt for pod in seen.of("w")] == [0, 1]
    seen.run()
    seen.fail("w", 0, 0)
    assert failed_so(seen), "one was lost, one failed"


def test_a_pod_that_has_succeeded_and_went_while_no_daemon_ran_is_not_run_again() -> None:
    seen = cluster(backoffLimit=0)
    seen.run()
    seen.succeed("w", 0, 1)
    seen.step(200)
    seen.lose_unseen("w", 0, 1)
    assert [pod.index for pod in seen.of("w")] == [0]
    assert seen.condition("Failed") is None


# --- the sentence of a job that has failed -----------------------------------------------------------------------


def cause_of(seen: Cluster) -> Cause:
    assert seen.kept.cause is not None
    return seen.kept.cause


GONE = "the pod was deleted while its gang was at work"
ONCE: dict[str, Any] = {"backoffLimit": 0}
EVICTION: dict[str, Any] = {"code": 1, "disruption": "EvictionByEvictionAPI"}
ENDS = [
    (ONCE, "fail", {"code": 3}, "Error", "ended with exit code 3 on node n"),
    (ONCE, "fail", EVICTION, "EvictionByEvictionAPI", "ended with exit code 1, EvictionByEvictionAPI on node n"),
    (ONCE, "lose", {}, "PodDeleted", "ended (PodDeleted) on node n: the member's pod is gone"),
    (ONCE, "lose_unseen", {}, "PodDeleted", "ended (PodDeleted): the member's pod is gone"),
    (ONCE, "delete", {}, "PodDeleted", f"ended (PodDeleted) on node n: {GONE}"),
    (policy({**FAIL, **codes("In", 3)}), "fail", {"code": 3}, "Error", "ended with exit code 3 on node n"),
    (
        policy({**FAIL, **DISRUPTED}),
        "fail",
        EVICTION,
        "EvictionByEvictionAPI",
        "ended with exit code 1, EvictionByEvictionAPI on node n",
    ),
]


@pytest.mark.parametrize(("inside", "how", "end", "reason", "ended"), ENDS)
def test_a_job_that_fails_names_the_pod_and_how_it_ended(
    inside: dict[str, Any], how: str, end: dict[str, Any], reason: str, ended: str
) -> None:
    seen = cluster(**inside)
    seen.run()
    (pod,) = seen.of("w", 0, 1)
    getattr(seen, how)("w", 0, 1, **end)
    assert (cause_of(seen).reason, sentence(cause_of(seen))) == (reason, f"rank 1 ({pod.name}) {ended}")
    assert [ended in line.message for line in seen.kept.story if line.reason == "GangRestart"] == [True]


@pytest.mark.parametrize(
    ("how", "end", "words"),
    [
        ("delete", {}, rf"ended \(PodDeleted\) on node n: {GONE}"),
        ("fail", {"code": 7}, "ended with exit code 7 on node n.*"),
    ],
)
def test_a_pod_that_its_job_replaces_is_named_with_how_it_ended(how: str, end: dict[str, Any], words: str) -> None:
    seen = cluster(backoffLimit=3)
    seen.run()
    getattr(seen, how)("w", 0, 1, **end)
    (line,) = [line.message for line in seen.kept.story if line.reason == "MemberRestart"]
    assert re.fullmatch(rf"rank 1 runs again \(attempt 1\): rank 1 \(t-w-0-1-\w{{5}}\) {words}", line)
    assert cause_of(seen).disruption is (how == "delete")


def test_of_several_jobs_the_place_of_the_member_is_named() -> None:
    seen = Cluster(jobset(job("a", pod=NEVER), job("w", job=ONCE, pod=NEVER), failurePolicy={"maxRestarts": 5}))
    seen.run()
    (pod,) = seen.of("w", 0, 0)
    seen.fail("w", 0, 0)
    assert sentence(cause_of(seen)) == f"rank 1 (w-0, {pod.name}) ended with exit code 1 on node n"


def test_a_deadline_is_that_of_its_job_and_no_rank_is_called_ended() -> None:
    inside = {"activeDeadlineSeconds": 60}
    seen = Cluster(jobset(job(job=inside, pod=NEVER, replicas=2)))
    seen.run()
    seen.succeed("w", 0)
    seen.step(60)
    late = "Job was active longer than specified deadline: it did not succeed within 60 s"
    assert sentence(cause_of(seen)) == f"rank 1: DeadlineExceeded: {late}"
    assert seen.kept.reason == "FailureRule"
    assert seen.kept.message.startswith("rank 1: DeadlineExceeded: Job was active longer than specified deadline")
    assert seen.message("Failed") == "jobset failed due to one or more job failures (first failed job: t-w-1)"
