"""Defaults and checks of a JobSet: the cases of its webhook by their names, and what Muster refuses beside them.

More that is refused is in tests/compatibility/jobset.yaml.
"""

from typing import Any

import pytest

from muster.api.manifest.problems import Problem, SpecError
from muster.kinds.jobset.checks import parse_jobset
from tests.compatibility.row import JOBSET, Row
from tests.compatibility.test_compatibility import tried
from tests.kinds.jobset.jobsets import Object, job, jobset

TWO: Object = {"completions": 2, "parallelism": 2}
CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}}
MOUNTS = {"containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}
IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
POLICY = {"templates": [CLAIM]}
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
    [({}, 1, 1), (TWO, 2, 2), ({"completions": 5, "parallelism": 2}, 5, 2), ({"completions": 3}, 3, 1)],
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


ONE_CLOCK = f"activeDeadlineSeconds: b waits for another, and the clock does not, remove it, or {LEAVE}"
REFUSED: dict[str, tuple[Object, str]] = {
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
        {**one(activeDeadlineSeconds=60), "failurePolicy": {"rules": [{"action": "RestartJobAndIgnoreMaxRestarts"}]}},
        f"the clock continues for a Job that RestartJob runs again alone, remove it, or {LEAVE}",
    ),
    "no container": (one({"containers": []}), "the pod has no container"),
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
    assert row.refused in str(refused.value)
    assert row.whole in str(refused.value)
    assert all(problem.field and _advises(problem) for problem in refused.value.problems)


def _advises(problem: Problem) -> bool:
    return bool(problem.hint) or any(
        words in problem.message for words in ("it is", "unknown", "beginning with a letter")
    )


def _built(changes: Object) -> Object:
    changes = dict(changes)
    jobs = changes.pop("jobs", [job()])
    built = jobset(*jobs, annotations=changes.pop("annotations", {}), **changes)
    built["spec"]["replicatedJobs"] = jobs
    return built
