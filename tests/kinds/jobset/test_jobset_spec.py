"""Defaults and checks of a JobSet: the cases of its webhook by their names, and what Muster refuses beside them.

More that is refused is in tests/compatibility/jobset.yaml.
"""

from typing import Any

import pytest

from muster.api.manifest.problems import Problem, SpecError
from muster.api.manifest.yaml.reader import plain, read_yaml
from muster.kinds.jobset.checks import parse_jobset
from tests.compatibility.row import JOBSET, Row
from tests.compatibility.test_compatibility import tried
from tests.kinds.jobset.jobsets import Object, job, jobset

TWO: Object = {"completions": 2, "parallelism": 2}
CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}}
MOUNTS = {"containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}
NEVER = {"restartPolicy": "Never"}
IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
POLICY = {"templates": [CLAIM]}
JOB = "spec.replicatedJobs[0].template.spec"
LEAVE = "leave managedBy out: the JobSet controller runs it and Muster watches over it"


def test_absent_fields_have_the_defaults_of_the_webhook() -> None:
    spec = parse_jobset(jobset(job())).spec
    only = spec.replicated_jobs[0]
    assert (only.replicas, only.group_name) == (1, "default")
    assert only.template.spec.completion_mode == "Indexed"
    assert only.template.spec.template.restart_policy == "OnFailure"
    assert (spec.network.enable_dns_hostnames, spec.network.publish_not_ready_addresses) == (True, True)
    assert spec.success_policy.operator == "All"
    assert not spec.in_order
    assert not spec.suspend


def test_stated_fields_are_kept() -> None:
    stated = jobset(
        job(pod={"restartPolicy": "Never"}),
        network={"enableDNSHostnames": False, "publishNotReadyAddresses": False, "subdomain": "sub"},
    )
    spec = parse_jobset(stated).spec
    assert spec.replicated_jobs[0].template.spec.template.restart_policy == "Never"
    assert (spec.network.enable_dns_hostnames, spec.network.publish_not_ready_addresses) == (False, False)
    assert parse_jobset(stated).subdomain == "sub"


def test_rules_without_a_name_are_named_by_their_place() -> None:
    policy = parse_jobset(jobset(failurePolicy={"rules": [{"action": "FailJobSet"}] * 2})).spec.failure_policy
    assert policy is not None
    assert [policy.name_of(number) for number in range(2)] == ["failurePolicyRule0", "failurePolicyRule1"]
    assert policy.max_restarts == 0


def test_claims_are_deleted_with_the_jobset_by_default() -> None:
    spec = parse_jobset(jobset(job(pod=MOUNTS), volumeClaimPolicies=[POLICY])).spec
    assert spec.volume_claim_policies[0].retention_policy.when_deleted == "Delete"


@pytest.mark.parametrize(
    ("spec", "pods", "at_a_time"),
    [
        ({}, 1, 1),
        (TWO, 2, 2),
        ({"completions": 5, "parallelism": 2}, 5, 2),
        ({"completions": 3}, 3, 1),
    ],
)
def test_a_job_has_as_many_pods_as_kubernetes_would_run(spec: dict[str, Any], pods: int, at_a_time: int) -> None:
    read = parse_jobset(jobset(job(job=spec))).spec.replicated_jobs[0].template.spec
    assert (read.pods, read.at_a_time) == (pods, at_a_time)


ACCEPTED: dict[str, Object] = {
    "no replicated jobs ok": {"jobs": []},
    "dependsOn + AnyOrder ok": {"jobs": [job("a"), job("b", dependsOn=[{"name": "a", "status": "Ready"}])]},
    "success target": {"successPolicy": {"operator": "Any", "targetReplicatedJobs": ["w"]}},
    "replicas zero": {"jobs": [job(replicas=0)]},
    "RestartJob": {"failurePolicy": {"rules": [{"action": "RestartJob"}]}},
    "coordinator": {"jobs": [job(job=TWO)], "coordinator": {"replicatedJob": "w", "podIndex": 1}},
    "coordinator of one pod": {"coordinator": {"replicatedJob": "w"}},
    "a volume whose name is no text": {"jobs": [job(pod={"volumes": [{"name": ["a"]}]})]},
    "exclusive topology": {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}},
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_jobset_accepts_is_accepted(case: str) -> None:
    assert parse_jobset(_built(ACCEPTED[case]))


def one(pod: Object | None = None, **inside: Any) -> Object:
    """One replicated job, with these fields of its Job and of its pod."""
    return {"jobs": [job(job=inside, pod=pod or {})]}


def second(*waits_for: str, status: str = "Ready", **inside: Any) -> Object:
    """A replicated job ``b`` that waits for these."""
    return job("b", job=inside, dependsOn=[{"name": name, "status": status} for name in waits_for])


def rule(**fields: Any) -> Object:
    return {"failurePolicy": {"rules": [{"action": "FailJobSet", **fields}]}}


def failing(**fields: Any) -> Object:
    """A podFailurePolicy of one rule."""
    return {"podFailurePolicy": {"rules": [fields]}}


INDEXED_PODS = f"{JOB}.completionMode: Muster gives each pod of a Job an index of its own, remove it, or {LEAVE}"
WHOLE_JOB = f"no rule of Muster gives up one pod of a Job alone, use backoffLimit, or {LEAVE}"
ONE_CLOCK = f"activeDeadlineSeconds: b waits for another, and the clock does not, remove it, or {LEAVE}"
REFUSED: dict[str, tuple[Object, str]] = {
    "dependsOn + InOrder rejected": (
        {"jobs": [job("a"), second("a")], **IN_ORDER},
        "spec.replicatedJobs[1].dependsOn[0].name: dependsOn and startupPolicyOrder InOrder exclude each other",
    ),
    "dependsOn of the first rjob rejected": (
        {"jobs": [second("b")]},
        "spec.replicatedJobs[0].dependsOn[0].name: the first replicated job cannot wait",
    ),
    "dependsOn bad status": (
        {"jobs": [job("a"), second("a", status="Started")]},
        "spec.replicatedJobs[1].dependsOn[0].status: the text 'Started' is not allowed here, it is Ready or Complete",
    ),
    "success invalid target": (
        {"successPolicy": {"targetReplicatedJobs": ["x"]}},
        "spec.successPolicy.targetReplicatedJobs[0]: there is no replicated job x, name one of w",
    ),
    "failure invalid target": (
        rule(targetReplicatedJobs=["x"]),
        "spec.failurePolicy.rules[0].targetReplicatedJobs[0]: there is no replicated job x",
    ),
    "failure invalid reason": (
        rule(onJobFailureReasons=["Oops"]),
        "spec.failurePolicy.rules[0].onJobFailureReasons[0]: the text 'Oops' is not allowed here",
    ),
    "failure rule name not allowed": (
        rule(name="1a"),
        "spec.failurePolicy.rules[0].name: '1a' is no name of a rule, write letters, digits",
    ),
    "message pattern that is no expression": (
        rule(onJobFailureMessagePatterns=["("]),
        "onJobFailureMessagePatterns[0]: not a regular expression of RE2",
    ),
    "RestartJob with more than 1024 replicas": (
        {"jobs": [job(replicas=1025)], **rule(action="RestartJob")},
        "spec.failurePolicy.rules[0].action: restarts of single Jobs are counted for at most 1024 replicas",
    ),
    "InPlaceRestart": (
        {"failurePolicy": {"restartStrategy": "InPlaceRestart"}},
        "spec.failurePolicy.restartStrategy: InPlaceRestart needs JobSet's agent in every pod",
    ),
    "replicas negative": ({"jobs": [job(replicas=-1)]}, "spec.replicatedJobs[0].replicas: -1 is out of range"),
    "too long job name": ({"jobs": [job("w" * 60)]}, "cut 9 characters from the name"),
    "coordinator beyond the jobs": (
        {**one(**TWO), "coordinator": {"replicatedJob": "w", "jobIndex": 1}},
        "spec.coordinator.jobIndex: w has 1 Job, write at most 0",
    ),
    "coordinator beyond the pods": (
        {**one(**TWO), "coordinator": {"replicatedJob": "w", "podIndex": 2}},
        "spec.coordinator.podIndex: a Job of w has 2 pods, write at most 1",
    ),
    "VolumeClaimPolicies namespace": (
        {"volumeClaimPolicies": [{"templates": [{"metadata": {"name": "data", "namespace": "x"}, "spec": {}}]}]},
        "spec.volumeClaimPolicies[0].templates[0].metadata.namespace: unknown field",
    ),
    "VolumeClaimPolicies MaxItems": ({"volumeClaimPolicies": [POLICY] * 51}, "write at most 50"),
    "pods without an index": (one(completionMode="NonIndexed"), INDEXED_PODS),
    "backoffLimitPerIndex": (one(NEVER, backoffLimitPerIndex=1, **TWO), f"{JOB}.backoffLimitPerIndex: {WHOLE_JOB}"),
    "maxFailedIndexes": (one(NEVER, maxFailedIndexes=0, **TWO), f"{JOB}.maxFailedIndexes: {WHOLE_JOB}"),
    "FailIndex": (
        one(NEVER, **failing(action="FailIndex", onExitCodes={"operator": "In", "values": [3]}), **TWO),
        f"rules[0].action: no rule of Muster gives up one pod of a Job alone, write FailJob, or {LEAVE}",
    ),
    "successPolicy of a Job": (
        one(successPolicy={"rules": [{"succeededIndexes": "0"}]}, **TWO),
        f"{JOB}.successPolicy: a Job of Muster succeeds when every pod of it has, remove it, or {LEAVE}",
    ),
    "OnFailure of several containers": (
        one({"containers": [{"name": "main", "image": "i"}, {"name": "side", "image": "i"}]}),
        f"none of them alone, write restartPolicy: Never, or {LEAVE}",
    ),
    "deadlines that differ": (
        {"jobs": [job("a", job={"activeDeadlineSeconds": 60}), job("b", job={"activeDeadlineSeconds": 90})]},
        f"activeDeadlineSeconds: 90 here and 60 above: one clock runs for all Jobs, write 60, or {LEAVE}",
    ),
    "a deadline of a Job that waits": ({"jobs": [job("a"), second("a", activeDeadlineSeconds=60)]}, ONE_CLOCK),
    "a deadline of a Job that starts in order": (
        {"jobs": [job("a"), job("b", job={"activeDeadlineSeconds": 60})], **IN_ORDER},
        ONE_CLOCK,
    ),
    "a deadline beside RestartJob": (
        {**one(activeDeadlineSeconds=60), **rule(action="RestartJobAndIgnoreMaxRestarts")},
        f"the clock continues for a Job that RestartJob runs again alone, remove it, or {LEAVE}",
    ),
    "no container": (one({"containers": []}), "the pod has no container"),
    "too many pods": (
        {"jobs": [job("a", replicas=1000, job={"completions": 101, "parallelism": 101})]},
        "101000 pods, write at most 100000",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_run_is_refused_with_its_place_and_what_to_do(case: str) -> None:
    changes, message = REFUSED[case]
    with pytest.raises(SpecError) as refused:
        parse_jobset(_built(changes))
    assert message in str(refused.value)
    assert all(map(_advises, refused.value.problems))


@pytest.mark.parametrize("row", [row for row in JOBSET.rows if not row.works], ids=lambda row: row.field)
def test_each_refusal_of_the_page_of_compatibility_has_a_field_and_an_advice(row: Row) -> None:
    with pytest.raises(SpecError) as refused:
        tried(JOBSET, row)
    assert all(problem.field and _advises(problem) for problem in refused.value.problems)


def _advises(problem: Problem) -> bool:
    return bool(problem.hint) or any(
        words in problem.message for words in ("it is", "unknown", "beginning with a letter")
    )


@pytest.mark.parametrize(
    ("replicas", "quoted"),
    [
        (-1, "j.yaml:6:15: spec.replicatedJobs[0].replicas: -1 is out of range"),
        (1, "j.yaml:3:42: spec.successPolicy.targetReplicatedJobs[0]: there is no"),
    ],
)
def test_a_problem_in_a_file_has_its_line_and_column(replicas: int, quoted: str) -> None:
    text = (
        "metadata: {name: t}\n"
        "spec:\n"
        "  successPolicy: {targetReplicatedJobs: [x]}\n"
        "  replicatedJobs:\n"
        "  - name: w\n"
        f"    replicas: {replicas}\n"
        "    template: {spec: {template: {spec: {containers: [{name: m, image: i}]}}}}\n"
    )
    node, _ = read_yaml(text, filename="j.yaml")
    assert node is not None
    with pytest.raises(SpecError) as refused:
        parse_jobset(plain(node), file="j.yaml", node=node)
    assert str(refused.value).startswith(quoted)


def _built(changes: Object) -> Object:
    changes = dict(changes)
    jobs = changes.pop("jobs", [job()])
    built = jobset(*jobs, annotations=changes.pop("annotations", {}), **changes)
    built["spec"]["replicatedJobs"] = jobs
    return built
