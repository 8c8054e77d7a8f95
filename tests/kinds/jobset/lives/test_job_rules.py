"""What follows the failure of a pod of a JobSet, by the rules that stand for its Job."""

import re
from typing import Any

import pytest

from muster.api.gang import MAX_ATTEMPTS
from muster.state.facts.sentences import sentence
from muster.state.policies.deadline import ends
from muster.state.vocabulary.rules import ClockName
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
    """The rule applied."""
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


def policy(action: str, **match: Any) -> dict[str, Any]:
    """A podFailurePolicy of one rule."""
    return {"podFailurePolicy": {"rules": [{"action": action, **match}]}}


EXIT_3 = {"onExitCodes": {"operator": "In", "values": [3, 4]}}
NOT_3 = {"onExitCodes": {"operator": "NotIn", "values": [3]}}
DISRUPTED = {"onPodConditions": [{"type": "DisruptionTarget"}]}


def test_fail_job_names_the_exit_code() -> None:
    message = r"Container main for pod default/t-w-0-1-\w{5} failed with exit code 3 matching FailJob rule at index 0"
    seen = cluster(**policy("FailJob", **EXIT_3), rules=because("PodFailurePolicy", message))
    seen.fail("w", 0, 1, code=3)
    assert failed_so(seen)


def test_fail_job_names_the_condition() -> None:
    message = r"Pod default/t-w-0-0-\w{5} has condition DisruptionTarget matching FailJob rule at index 0"
    seen = cluster(**policy("FailJob", **DISRUPTED), rules=because("PodFailurePolicy", message))
    seen.fail("w", 0, 0, code=143, disruption="EvictionByEvictionAPI")
    assert failed_so(seen)


def test_an_exit_code_that_no_rule_has_counts() -> None:
    seen = cluster(backoffLimit=0, **policy("FailJob", **EXIT_3), rules=because("BackoffLimitExceeded"))
    seen.fail("w", 0, 0, code=5)
    assert failed_so(seen)


def test_not_in_matches_the_other_exit_codes() -> None:
    seen = cluster(**policy("FailJob", **NOT_3), rules=because("PodFailurePolicy"))
    seen.fail("w", 0, 0, code=3)
    assert seen.status["restarts"] == 0
    seen.fail("w", 0, 1, code=5)
    assert failed_so(seen)


def test_a_rule_for_another_container_does_not_match() -> None:
    match = {"onExitCodes": {"containerName": "side", "operator": "In", "values": [3]}}
    pod = {**NEVER, "containers": [{"name": "main", "image": "i"}, {"name": "side", "image": "i"}]}
    seen = cluster(pod=pod, **policy("FailJob", **match))
    seen.fail("w", 0, 0, code=3)
    assert seen.status["restarts"] == 0


def test_ignored_failures_are_replaced_and_not_counted() -> None:
    seen = cluster(backoffLimit=0, **policy("Ignore", **DISRUPTED))
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


def test_a_rule_of_a_pod_does_not_judge_a_failure_that_is_its_jobs_already() -> None:
    counted = {"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}}
    rest = {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [4]}}
    seen = cluster(backoffLimit=0, podFailurePolicy={"rules": [counted, rest]}, rules=because("BackoffLimitExceeded"))
    seen.fail("w", 0, 0, code=3)
    assert failed_so(seen)


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
    assert ends(seen.plan, seen.kept).keys() == {ClockName.RUN}
    seen.succeed("a")
    seen.step(600)
    assert (seen.status["restarts"], seen.counts("b")) == (0, "active 1 ready 1")
    seen.step(600)
    assert ends(seen.plan, seen.kept) == {}, "pages and metrics have no clock that is over"


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


def said(seen: Cluster) -> str:
    """The sentence of the last failure."""
    assert seen.kept.cause is not None
    return sentence(seen.kept.cause)


def name_of(seen: Cluster, index: int) -> str:
    """The pod of that index."""
    (pod,) = seen.of("w", 0, index)
    return pod.name


def test_a_job_at_its_backoff_limit_is_named_with_the_pod_that_failed() -> None:
    seen = cluster(backoffLimit=0)
    seen.run()
    pod = name_of(seen, 1)
    seen.fail("w", 0, 1, code=3)
    assert said(seen) == f"rank 1 ({pod}) ended with exit code 3 on node n"


def test_a_job_that_failed_because_a_pod_was_lost_names_pod_and_node() -> None:
    seen = cluster(backoffLimit=0)
    seen.run()
    pod = name_of(seen, 1)
    seen.lose("w", 0, 1)
    assert said(seen) == f"rank 1 ({pod}) ended (PodDeleted) on node n: the member's pod is gone"


def test_a_pod_that_was_lost_unseen_is_named_without_its_node() -> None:
    seen = cluster(backoffLimit=0)
    seen.run()
    pod = name_of(seen, 1)
    seen.lose_unseen("w", 0, 1)
    assert said(seen) == f"rank 1 ({pod}) ended (PodDeleted): the member's pod is gone"


def test_of_several_jobs_the_place_of_the_member_is_named() -> None:
    jobs = (job("a", pod=NEVER), job("w", job={"backoffLimit": 0}, pod=NEVER))
    seen = Cluster(jobset(*jobs, failurePolicy={"maxRestarts": 5}))
    seen.run()
    pod = name_of(seen, 0)
    seen.fail("w", 0, 0)
    assert said(seen) == f"rank 1 (w-0, {pod}) ended with exit code 1 on node n"


def test_a_deadline_is_said_of_the_job_and_no_rank_is_said_to_have_ended() -> None:
    seen = cluster(activeDeadlineSeconds=60)
    seen.run()
    seen.step(60)
    late = "Job was active longer than specified deadline: it did not succeed within 60 s"
    assert said(seen) == f"rank 0: DeadlineExceeded: {late}"


def test_the_deadline_of_another_job_is_said_of_that_job() -> None:
    inside = {"activeDeadlineSeconds": 60}
    seen = Cluster(jobset(job(job=inside, pod=NEVER, replicas=2)))
    seen.run()
    seen.succeed("w", 0)
    seen.step(60)
    assert seen.kept.reason == "FailureRule"
    assert seen.kept.message.startswith("rank 1: DeadlineExceeded: Job was active longer than specified deadline")
    assert seen.message("Failed") == "jobset failed due to one or more job failures (first failed job: t-w-1)"


def test_a_pod_failure_policy_is_said_with_its_rule_and_pod() -> None:
    seen = cluster(**policy("FailJob", **EXIT_3))
    seen.run()
    pod = name_of(seen, 1)
    seen.fail("w", 0, 1, code=3)
    assert said(seen) == f"rank 1 ({pod}) ended with exit code 3 on node n"


def test_a_disrupted_pod_is_said_with_the_rule_that_matched_it() -> None:
    seen = cluster(**policy("FailJob", **DISRUPTED))
    seen.run()
    pod = name_of(seen, 0)
    seen.fail("w", 0, 0, code=1, disruption="EvictionByEvictionAPI")
    assert said(seen) == f"rank 0 ({pod}) ended with exit code 1, EvictionByEvictionAPI on node n"


def lines(seen: Cluster, reason: str) -> list[str]:
    """What the story says of that reason."""
    return [line.message for line in seen.kept.story if line.reason == reason]


def test_a_pod_that_is_deleted_is_named_as_deleted_where_its_job_replaces_it() -> None:
    seen = cluster(backoffLimit=3)
    seen.run()
    seen.delete("w", 0, 1)
    (said,) = lines(seen, "MemberRestart")
    pod = r"rank 1 \(t-w-0-1-\w{5}\)"
    why = r"\(PodDeleted\) on node n: the pod was deleted while its gang was at work"
    assert re.fullmatch(rf"rank 1 runs again \(attempt 1\): {pod} ended {why}", said)
    assert seen.kept.cause is not None
    assert (seen.kept.cause.reason, seen.kept.cause.disruption) == ("PodDeleted", True)


@pytest.mark.parametrize("how", ["delete", "lose"])
def test_a_pod_that_is_deleted_is_named_as_deleted_where_its_job_fails_by_it(how: str) -> None:
    seen = cluster(backoffLimit=0)
    seen.run()
    getattr(seen, how)("w", 0, 1)
    (ended,) = lines(seen, "GangRestart")
    assert "(PodDeleted) on node n" in ended
    assert seen.kept.cause is not None
    assert seen.kept.cause.reason == "PodDeleted"


@pytest.mark.parametrize(
    ("end", "reason", "said"),
    [
        ({"code": 1}, "Error", "ended with exit code 1 on node n"),
        ({"code": 143, "disruption": "EvictionByEvictionAPI"}, "EvictionByEvictionAPI", ", EvictionByEvictionAPI on"),
    ],
)
def test_a_program_that_fails_and_a_pod_that_is_evicted_are_not_called_deleted(
    end: dict[str, Any], reason: str, said: str
) -> None:
    seen = cluster(backoffLimit=0)
    seen.run()
    seen.fail("w", 0, 1, **end)
    (ended,) = lines(seen, "GangRestart")
    assert said in ended
    assert "PodDeleted" not in ended
    assert seen.kept.cause is not None
    assert seen.kept.cause.reason == reason


def test_a_pod_that_its_job_replaces_is_said_whatever_it_ended_by() -> None:
    seen = cluster(backoffLimit=3)
    seen.run()
    seen.fail("w", 0, 0, code=7)
    (said,) = lines(seen, "MemberRestart")
    assert "ended with exit code 7 on node n" in said
