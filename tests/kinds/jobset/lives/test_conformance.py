"""The conformance list: the cases of JobSet's own controller tests, by their names, played with pods.

JobSet's tests write the status of Jobs. Here the same comes of pods: "a Job fails" is a pod that fails with
``backoffLimit: 0``. Each case is one function, or a row of
a table; what Muster does otherwise is in the case. The cases of TTL, of
claims and of ``managedBy`` are about requests: tests/daemon/run_kinds/test_jobsets.py. Those of the webhook are in
tests/kinds/jobset/test_jobset_spec.py.
"""

from collections.abc import Callable
from hashlib import sha1
from typing import Any

import msgspec
import pytest

from muster.api.manifest.problems import SpecError
from muster.kinds.jobset.run import plan_of
from muster.reconcilers.render.environment import Restarts
from muster.reconcilers.render.pod import render_pod
from muster.state.view.membership import Membership
from tests.kinds.jobset.jobsets import job, jobset
from tests.kinds.jobset.lives.cluster import Cluster

Case = Callable[[], None]
CASES: dict[str, Case] = {}
NEVER = {"restartPolicy": "Never"}
IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
FAIL = {"action": "FailJobSet"}


def case(name: str) -> Callable[[Case], Case]:
    def add(function: Case) -> Case:
        assert name not in CASES
        CASES[name] = function
        return function

    return add


def one(name: str = "w", replicas: int = 1, pods: int = 1, **changes: Any) -> dict[str, Any]:
    """A replicated job whose Jobs fail with their first failed pod."""
    inside = {"backoffLimit": 0, "completions": pods, "parallelism": pods, **changes.pop("job", {})}
    return job(name, replicas=replicas, job=inside, pod={**NEVER, **changes.pop("pod", {})}, **changes)


def cluster(*jobs: dict[str, Any], **spec: Any) -> Cluster:
    return Cluster(jobset(*(jobs or (one(replicas=2),)), **spec))


def rules(*each: dict[str, Any], most: int = 1) -> dict[str, Any]:
    return {"maxRestarts": most, "rules": list(each)}


def ended(seen: Cluster, reason: str, first: str = "t-w-0") -> None:
    assert seen.condition("Failed") == ("True", reason)
    assert seen.message("Failed").endswith(f"(first failed job: {first})")
    assert seen.status["terminalState"] == "Failed"


def restarted(seen: Cluster, restarts: int, counted: int) -> None:
    assert (seen.status["restarts"], seen.status.get("restartsCountTowardsMax", 0)) == (restarts, counted)
    assert seen.condition("Failed") is None


@case("DNS hostnames => one headless service")
def _() -> None:
    seen = cluster()
    assert seen.view.engine.service
    assert (seen.plan.domain, seen.plan.naming.publish_not_ready) == ("t", True)
    off = cluster(network={"enableDNSHostnames": False})
    assert not off.view.engine.service


@case("fails after max restarts")
def _() -> None:
    seen = cluster(failurePolicy={"maxRestarts": 3})
    for number in range(3):
        seen.fail()
        restarted(seen, number + 1, number + 1)
    seen.fail()
    ended(seen, "ReachedMaxRestarts")
    assert seen.status["restarts"] == 3, "maxRestarts 3 is four runs"


@case("restarting condition transitions")
def _() -> None:
    seen = cluster(failurePolicy={"maxRestarts": 1})
    seen.run()
    seen.fail()
    seen.run("w", 0)
    assert seen.condition("RestartingJobSet") == ("True", "DefaultFailurePolicy")
    seen.run("w", 1)
    assert seen.condition("RestartingJobSet") == ("False", "JobsReady")
    seen.fail()
    assert seen.turns() == [
        "RestartingJobSet True/DefaultFailurePolicy",
        "RestartingJobSet False/JobsReady",
        "RestartingJobSet False/JobSetFailed",
        "Failed True/ReachedMaxRestarts",
    ]


@case("RestartJob")
def _() -> None:
    seen = cluster(one(replicas=2, pods=2), failurePolicy=rules({"action": "RestartJob"}))
    seen.run()
    before = {pod.name for pod in seen.of("w", 0)}
    seen.fail("w", 1, 1)
    assert {pod.name for pod in seen.of("w", 0)} == before, "the other Job goes on"
    assert [pod.attempt for pod in seen.of("w", 1)] == [1, 1]
    assert seen.status["restarts"] == 0
    (row,) = seen.status["replicatedJobsStatus"]
    assert (row["jobRestarts"], row["jobRestartsCountTowardsMax"]) == ([0, 1], [0, 1])
    assert "restartsCountTowardsMax" not in seen.status
    seen.fail("w", 0)
    ended(seen, "ReachedMaxRestarts")


@case("RestartJobAndIgnoreMaxRestarts")
def _() -> None:
    seen = cluster(one(replicas=2), failurePolicy=rules({"action": "RestartJobAndIgnoreMaxRestarts"}, most=0))
    for number in range(1, 4):
        seen.fail("w", 0)
        (row,) = seen.status["replicatedJobsStatus"]
        assert row["jobRestarts"] == [number, 0]
        assert "jobRestartsCountTowardsMax" not in row
    restarted(seen, 0, 0)


@case("RestartJobSetAndIgnoreMaxRestarts (gate off/on)")
def _() -> None:
    seen = cluster(failurePolicy=rules({"action": "RestartJobSetAndIgnoreMaxRestarts"}, most=0))
    for number in range(1, 4):
        seen.fail()
        restarted(seen, number, 0)
    assert seen.condition("RestartingJobSet") == ("True", "FailurePolicy_failurePolicyRule0")
    assert seen.message("RestartingJobSet").startswith("applying RestartJobSetAndIgnoreMaxRestarts failure policy")


@case("rule order test 3: an earlier rule for a later failure goes first")
def _() -> None:
    first = {"action": "FailJobSet", "targetReplicatedJobs": ["b"]}
    seen = cluster(one("a"), one("b"), failurePolicy=rules(first, {"action": "RestartJobSet"}))
    seen.end_unseen("a", 0, 1)
    seen.now += 1
    seen.end_unseen("b", 0, 1)
    seen.step(1)
    ended(seen, "FailJobSetFailurePolicyAction", "t-b-0")


@case("of two failed jobs the first is named")
def _() -> None:
    seen = cluster(one(replicas=2))
    seen.end_unseen("w", 1, 1)
    seen.now += 1
    seen.end_unseen("w", 0, 1)
    seen.step(1)
    ended(seen, "FailedJobs", "t-w-1")


@case("failure is judged before success")
def _() -> None:
    seen = cluster(one("a"), one("b"), successPolicy={"operator": "Any", "targetReplicatedJobs": ["a"]})
    seen.end_unseen("a", 0, 0)
    seen.fail("b")
    ended(seen, "FailedJobs", "t-b-0")


@case("job succeeds after one failure")
def _() -> None:
    seen = cluster(failurePolicy={"maxRestarts": 1})
    seen.fail()
    seen.run()
    seen.succeed()
    assert seen.condition("Completed") == ("True", "AllJobsCompleted")
    assert seen.condition("RestartingJobSet") == ("False", "JobSetCompleted")


@case("created suspended; resume suspended, with a changed pod template")
def _() -> None:
    seen = cluster(suspend=True)
    assert (seen.names(), seen.counts()) == ([], "suspended 2")
    assert seen.condition("Suspended") == ("True", "SuspendedJobs")
    seen.edit(suspend=False, replicatedJobs=[one(replicas=2, pod={"nodeSelector": {"zone": "b"}})])
    assert seen.condition("Suspended") == ("False", "ResumeJobs")
    assert seen.names() == ["w-0", "w-1"]
    assert seen.plan.groups[0].template["spec"]["nodeSelector"] == {"zone": "b"}
    assert seen.status["restarts"] == 0, "a resume is no restart"


@case("setting suspend is allowed; suspend running")
def _() -> None:
    seen = cluster(failurePolicy={"maxRestarts": 1})
    seen.run()
    seen.edit(suspend=True)
    assert seen.condition("Suspended") == ("True", "SuspendedJobs")
    assert (seen.names(), seen.counts()) == ([], "suspended 2")
    seen.edit(suspend=False)
    assert (seen.names(), seen.status["restarts"]) == (["w-0", "w-1"], 0)


@case("service deleted => recreated")
def _() -> None:
    seen = cluster()
    seen.run()
    seen.view.engine.service = False
    seen.step()
    assert seen.view.engine.service


@case("create jobs; replicatedJobsStatuses create/update; status after all succeed")
def _() -> None:
    seen = cluster(one("a"), one("w", replicas=2, pods=2))
    assert seen.names() == ["a-0", "w-0", "w-1"]
    seen.run("w", 0, 0)
    assert (seen.counts("a"), seen.counts()) == ("active 1", "active 2")
    seen.run("w", 0, 1)
    assert seen.counts() == "active 2 ready 1"
    seen.run("w", 1)
    assert seen.counts() == "active 2 ready 2"
    seen.succeed("w", 0)
    assert seen.counts() == "active 1 ready 1 succeeded 1"
    seen.succeed("w", 1)
    assert seen.counts() == "succeeded 2"


@case("active jobs deleted after success")
def _() -> None:
    seen = cluster(one("a"), one("b"), successPolicy={"operator": "Any"})
    seen.run()
    seen.succeed("a")
    assert not any(pod.live for pod in seen.pods.values())


@case("active jobs deleted after fail")
def _() -> None:
    seen = cluster()
    seen.run()
    seen.fail("w", 0)
    assert not any(pod.live for pod in seen.pods.values())
    assert seen.counts() == "failed 1"


@case("generateName => service named after JobSet")
def _() -> None:
    assert Cluster(jobset(one(), name="t-x7k2p")).plan.domain == "t-x7k2p"


@case("AnyOrder suspend / resume")
def _() -> None:
    seen = cluster(one("a"), one("b"), suspend=True)
    seen.edit(suspend=False)
    assert seen.names() == ["a-0", "b-0"]


@case("InOrder suspend keeps suspended; InOrder resume")
def _() -> None:
    seen = cluster(one("a"), one("b"), suspend=True, **IN_ORDER)
    assert (seen.counts("a"), seen.counts("b")) == ("suspended 1", "suspended 1")
    assert seen.condition("StartupPolicyInProgress") is None
    seen.edit(suspend=False)
    assert seen.names() == ["a-0"]
    assert seen.condition("Suspended") == ("True", "SuspendedJobs"), "until the last one has started"
    seen.run("a")
    assert seen.names() == ["a-0", "b-0"]
    seen.run("b")
    assert seen.condition("Suspended") == ("False", "ResumeJobs")


@case("InOrder a not ready => b not run; InOrder restart")
def _() -> None:
    seen = cluster(one("a"), one("b"), failurePolicy={"maxRestarts": 1}, **IN_ORDER)
    seen.run("a", 0, ready=False)
    assert seen.names() == ["a-0"]
    assert seen.condition("StartupPolicyInProgress") == ("True", "InOrderStartupPolicyInProgress")
    assert seen.condition("StartupPolicyCompleted") is None
    seen.run("a")
    seen.run("b")
    assert seen.condition("StartupPolicyCompleted") == ("True", "InOrderStartupPolicyCompleted")
    seen.fail("b")
    assert seen.names() == ["a-0"]
    assert seen.condition("StartupPolicyInProgress") == ("True", "InOrderStartupPolicyInProgress")
    assert seen.condition("StartupPolicyCompleted") == ("False", "InOrderStartupPolicyCompleted")


@case("dependsOn resume")
def _() -> None:
    seen = cluster(one("a"), one("b", dependsOn=[{"name": "a", "status": "Ready"}]), suspend=True)
    assert (seen.counts("a"), seen.counts("b")) == ("suspended 1", "")
    seen.edit(suspend=False)
    assert seen.names() == ["a-0"]
    assert seen.condition("Suspended") == ("False", "ResumeJobs")


@case("ignore jobs with same owner name but other UID")
def _() -> None:
    plan = plan_of(jobset(one()))
    members = Membership()
    members.follow(plan)
    (mine,) = cluster(one()).pods.values()
    members.change(None, mine)
    assert members.view.of(0).pods == 1, "the index of the daemon holds pods by the uid of their owner"
    members.change(None, msgspec.structs.replace(mine, uid="other", name="t-w-0-0-zzzzz"))
    assert (members.view.of(0).pods, members.foreign) == (1, 1)


@case("coordinator label+annotation")
def _() -> None:
    plan = plan_of(jobset(one(pods=2), coordinator={"replicatedJob": "w", "podIndex": 1}))
    metadata = render_pod(plan, next(plan.members()), 0)["metadata"]
    for kind in ("labels", "annotations"):
        assert metadata[kind]["jobset.sigs.k8s.io/coordinator"] == "t-w-0-1.t"


@case("labels and annotations of a restarted job")
def _() -> None:
    plan = plan_of(jobset(one("a", replicas=2), one("b", replicas=2, groupName="g"), one("c", groupName="g")))
    pods = {member.rank: render_pod(plan, member, 3, 1, Restarts(2, {3: 1})) for member in plan.members()}
    labels = pods[3]["metadata"]["labels"]
    seen = {key.partition("/")[2]: value for key, value in labels.items() if key.startswith("jobset.")}
    assert seen.pop("job-key") == sha1(b"default/t-b-1", usedforsecurity=False).hexdigest()
    assert seen == {
        "jobset-uid": "uid-t", "replicatedjob-name": "b", "replicatedjob-replicas": "2", "global-replicas": "5",
        "group-name": "g", "group-replicas": "3", "restart-attempt": "2", "job-restart-attempt": "1", "job-index": "1",
        "job-global-index": "3", "job-group-index": "1",
    }  # fmt: skip
    assert pods[4]["metadata"]["labels"]["jobset.sigs.k8s.io/job-group-index"] == "2"


@case("exclusive placement: every pod with its own Job and away from others")
def _() -> None:
    key = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    plan = plan_of(jobset(one(), annotations=key))
    pod = render_pod(plan, next(plan.members()), 0)
    own = pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-key"]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    (near,), (far,) = (pod["spec"]["affinity"][kind][required] for kind in ("podAffinity", "podAntiAffinity"))
    assert (near["topologyKey"], far["topologyKey"]) == ("rack", "rack")
    assert near["labelSelector"]["matchExpressions"][0]["values"] == [own]
    assert [each["operator"] for each in far["labelSelector"]["matchExpressions"]] == ["Exists", "NotIn"]
    assert pod["metadata"]["annotations"] | key == pod["metadata"]["annotations"]


@case("exclusive placement by node selector")
def _() -> None:
    keys = {f"alpha.jobset.sigs.k8s.io/{key}": "rack" for key in ("exclusive-topology", "node-selector")}
    plan = plan_of(jobset(one(), annotations=keys))
    spec = render_pod(plan, next(plan.members()), 0)["spec"]
    assert spec["nodeSelector"] == {"alpha.jobset.sigs.k8s.io/namespaced-job": "default_t-w-0"}
    assert spec["tolerations"][-1]["key"] == "alpha.jobset.sigs.k8s.io/no-schedule"
    assert "affinity" not in spec


@case("immutability: an edit of replicatedJobs while it runs is said (JobSet: refused by the webhook)")
def _() -> None:
    seen = cluster(one(replicas=2))
    seen.run()
    seen.edit(replicatedJobs=[one(replicas=2, pod={"priorityClassName": "high"})])
    assert "the edit of spec.replicatedJobs applies to pods that are created from now on" in seen.kept.message
    assert "JobSet's webhook refuses such an edit of a JobSet that is not suspended" in seen.kept.message
    seen.edit(suspend=True)
    seen.edit(suspend=False)
    assert "the edit" not in seen.kept.message


@case("a failure policy that is added while it runs")
def _() -> None:
    """The CRD's rule compares only fields that were there before, so the API server lets it through."""
    seen = cluster()
    seen.run()
    seen.edit(failurePolicy={"maxRestarts": 1})
    seen.fail("w", 0)
    restarted(seen, 1, 1)


@case("invalid template is refused before a pod is made (JobSet: accumulating JobCreationFailed)")
def _() -> None:
    with pytest.raises(SpecError, match="write OnFailure or Never"):
        plan_of(jobset(job(pod={"restartPolicy": "Always"})))


@pytest.mark.parametrize("name", CASES)
def test_conformance(name: str) -> None:
    CASES[name]()


TWO_JOBS = (one("a"), one("b", 2))
SUCCESSES: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any], tuple[tuple[str, int], ...]]] = {
    "succeed after all jobs succeed": (TWO_JOBS, {}, (("a", 0), ("b", 1), ("b", 0))),
    "succeeds from first run": (TWO_JOBS, {"failurePolicy": {"maxRestarts": 3}}, (("a", 0), ("b", 1), ("b", 0))),
    "success All, empty list of targets": (
        (one("a"), one("b")),
        {"successPolicy": {"operator": "All"}},
        (("a", 0), ("b", 0)),
    ),
    "success All with rjobs": (
        (one("a"), one("b")),
        {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["b"]}},
        (("b", 0),),
    ),
    "success Any without rjob": ((one("a", 2),), {"successPolicy": {"operator": "Any"}}, (("a", 1),)),
    "success Any with rjob": (
        TWO_JOBS,
        {"successPolicy": {"operator": "Any", "targetReplicatedJobs": ["b"]}},
        (("a", 0), ("b", 0)),
    ),
}
"""The JobSet, and the Jobs that succeed one after another: with the last one it is completed."""


@pytest.mark.parametrize(("jobs", "spec", "order"), SUCCESSES.values(), ids=SUCCESSES)
def test_conformance_of_success(jobs: Any, spec: dict[str, Any], order: tuple[tuple[str, int], ...]) -> None:
    seen = cluster(*jobs, **spec)
    seen.run()
    for group, number in order:
        assert seen.condition("Completed") is None
        seen.succeed(group, number)
    assert seen.condition("Completed") == ("True", "AllJobsCompleted")
    assert (seen.status["terminalState"], seen.status["restarts"]) == ("Completed", 0)


def because(reason: str = "BackoffLimitExceeded", pattern: str = "") -> dict[str, Any]:
    """The rule FailJobSet for that failure of a Job."""
    return {**FAIL, "onJobFailureReasons": [reason]} | ({"onJobFailureMessagePatterns": [pattern]} if pattern else {})


ENDS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "no failure policy => fail on any failure": (None, "FailedJobs"),
    "fails from first run, no restarts": ({"maxRestarts": 0}, "ReachedMaxRestarts"),
    "FailJobSet immediate": (rules(FAIL), "FailJobSetFailurePolicyAction"),
    "FailJobSet reason+message": (
        rules(because(pattern="^Job has reached .* limit$")),
        "FailJobSetFailurePolicyAction",
    ),
    "message regex not string-equal": (
        rules({**FAIL, "onJobFailureMessagePatterns": ["back.?off"]}),
        "FailJobSetFailurePolicyAction",
    ),
    "target rjob contains": (rules({**FAIL, "targetReplicatedJobs": ["b"]}), "FailJobSetFailurePolicyAction"),
    "rule order test 1: the first rule that matches applies": (
        rules(FAIL, {"action": "RestartJobSet"}),
        "FailJobSetFailurePolicyAction",
    ),
}
"""The failure policy, and the reason of the end when a Job of ``b`` fails."""


@pytest.mark.parametrize(("policy", "reason"), ENDS.values(), ids=ENDS)
def test_conformance_of_a_failure_that_ends_the_jobset(policy: dict[str, Any] | None, reason: str) -> None:
    seen = cluster(*TWO_JOBS, **({"failurePolicy": policy} if policy else {}))
    seen.fail("b", 1)
    ended(seen, reason, "t-b-1")
    assert policy or seen.message("Failed").startswith("jobset failed due to one or more job failures")


RESTARTS: dict[str, tuple[dict[str, Any], str]] = {
    "FailJobSet not matched by reason": (rules(because("PodFailurePolicy")), "DefaultFailurePolicy"),
    "FailJobSet not matched by message": (
        rules({**FAIL, "onJobFailureMessagePatterns": ["exit code 7"]}),
        "DefaultFailurePolicy",
    ),
    "FailJobSet not matched by message though reason matches": (
        rules(because(pattern="exit code 7")),
        "DefaultFailurePolicy",
    ),
    "target rjob not contains": (rules({**FAIL, "targetReplicatedJobs": ["a"]}), "DefaultFailurePolicy"),
    "RestartJobSet (gate off/on)": (rules({"name": "again", "action": "RestartJobSet"}), "FailurePolicy_again"),
    "rule order test 2: a rule that does not match is passed over": (
        rules(because("PodFailurePolicy"), {"name": "b", "action": "RestartJobSet"}),
        "FailurePolicy_b",
    ),
}
"""The failure policy, and the reason of the restart when a Job of ``b`` fails; a second failure ends the JobSet."""


@pytest.mark.parametrize(("policy", "reason"), RESTARTS.values(), ids=RESTARTS)
def test_conformance_of_a_failure_that_restarts_the_jobset(policy: dict[str, Any], reason: str) -> None:
    seen = cluster(*TWO_JOBS, failurePolicy=policy)
    seen.fail("b")
    restarted(seen, 1, 1)
    assert seen.condition("RestartingJobSet") == ("True", reason)
    seen.fail("b")
    ended(seen, "ReachedMaxRestarts", "t-b-0")


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param("BlockingRecreate", id="BlockingRecreate waits for all deletions"),
        pytest.param("Recreate", id="Recreate restarts jobs individually (Muster waits for all, as BlockingRecreate)"),
    ],
)
def test_conformance_of_a_restart_strategy(strategy: str) -> None:
    seen = cluster(failurePolicy={"maxRestarts": 1, "restartStrategy": strategy})
    seen.run()
    (slow,) = seen.of("w", 1)
    seen.hold(slow.name)
    seen.fail("w", 0)
    assert seen.names() == [], "a pod of the run before may still run"
    seen.release(slow.name)
    assert seen.names() == ["w-0", "w-1"]


STARTED_BEFORE: dict[str, tuple[dict[str, Any] | None, str]] = {
    "InOrder failed after all had started": (None, "FailedJobs"),
    "InOrder failed by a rule": (rules({"name": "r", **FAIL}), "FailJobSetFailurePolicyAction"),
    "InOrder failed after its restarts": ({"maxRestarts": 1}, "ReachedMaxRestarts"),
}


@pytest.mark.parametrize(("policy", "reason"), STARTED_BEFORE.values(), ids=STARTED_BEFORE)
def test_conformance_of_an_end_after_a_startup_in_order(policy: dict[str, Any] | None, reason: str) -> None:
    """The controller sees that the pods of a Job are not ready some time before it sees that the Job has failed."""
    seen = cluster(one("a"), one("b"), **IN_ORDER, **({"failurePolicy": policy} if policy else {}))
    while seen.condition("Failed") is None:
        seen.run("a")
        seen.run("b")
        assert seen.condition("StartupPolicyCompleted") == ("True", "InOrderStartupPolicyCompleted")
        seen.fail("b")
        seen.step(5)
    assert seen.condition("Failed") == ("True", reason)
    assert seen.condition("StartupPolicyInProgress") == ("True", "InOrderStartupPolicyInProgress")
    assert seen.condition("StartupPolicyCompleted") == ("False", "InOrderStartupPolicyCompleted")


def after(**statuses: str) -> dict[str, Any]:
    """What a replicated job waits for."""
    return {"dependsOn": [{"name": name, "status": status} for name, status in statuses.items()]}


RUN, SUCCEED = Cluster.run, Cluster.succeed
Step = Callable[[Cluster, str, int], None]
WAITS: dict[str, tuple[tuple[dict[str, Any], ...], tuple[tuple[Step, str, int], ...]]] = {
    "dependsOn b<-a Ready": ((one("a", 2), one("b", **after(a="Ready"))), ((RUN, "a", 0), (RUN, "a", 1))),
    "dependsOn b<-a Complete": ((one("a"), one("b", **after(a="Complete"))), ((RUN, "a", 0), (SUCCEED, "a", 0))),
    "dependsOn b<-a Complete, c<-b Ready": (
        (one("a"), one("b", **after(a="Complete")), one("c", **after(b="Ready"))),
        ((SUCCEED, "a", 0), (RUN, "b", 0)),
    ),
    "dependsOn c<-a,b Complete": (
        (one("a"), one("b"), one("c", **after(a="Complete", b="Complete"))),
        ((SUCCEED, "a", 0), (SUCCEED, "b", 0)),
    ),
    "dependsOn c<-a Ready,b Complete": (
        (one("a"), one("b"), one("c", **after(a="Ready", b="Complete"))),
        ((SUCCEED, "b", 0), (RUN, "a", 0)),
    ),
    "dependsOn a Job that runs its pods in turn: it is ready when as many run as may": (
        (one("a", job={"completions": 3, "parallelism": 1}), one("b", **after(a="Ready"))),
        ((RUN, "a", 0),),
    ),
}
"""Replicated jobs, and what happens to others until the last one of them has a pod."""


@pytest.mark.parametrize(("jobs", "steps"), WAITS.values(), ids=WAITS)
def test_conformance_of_a_job_that_waits(jobs: Any, steps: tuple[tuple[Step, str, int], ...]) -> None:
    seen, last = cluster(*jobs), jobs[-1]["name"]
    for step, group, number in steps:
        assert seen.names(last) == []
        step(seen, group, number)
    assert seen.names(last) == [f"{last}-0"]
