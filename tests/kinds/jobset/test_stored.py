"""What Go code stores in a JobSet or a JAXJob for what the manifest leaves out is read as absent.

The fields are those of jobset_types.go and of batch/v1 and core/v1 types.go that a Go encoder writes while they are
empty, and null wherever a struct, a list or a pointer may stand.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from muster.api.manifest.problems import SpecError
from muster.kinds.jax.jaxjob import parse_jaxjob
from muster.kinds.jobset.checks import parse_jobset
from muster.kinds.jobset.run import plan_of
from muster.state.vocabulary.plan import Plan
from tests.builders import edited
from tests.kinds.jobset.jobsets import Object, job, jobset

NEVER = {"restartPolicy": "Never"}
DISRUPTED = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}
BY_CODE = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}
CLAIM: Object = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
MOUNTS = {"containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}


def whole() -> Object:
    """A JobSet that has every part which a zero value can stand in."""
    worker = job(
        "worker",
        job={
            "completions": 2,
            "parallelism": 2,
            "podFailurePolicy": {"rules": [DISRUPTED, BY_CODE]},
        },
        pod={**NEVER, **MOUNTS},
    )
    found = jobset(
        job("driver", pod=MOUNTS),
        {**worker, "dependsOn": [{"name": "driver", "status": "Ready"}]},
        failurePolicy={"maxRestarts": 1, "rules": [{"action": "RestartJobSet"}]},
        coordinator={"replicatedJob": "worker"},
        volumeClaimPolicies=[{"templates": [CLAIM]}],
        network={},
        successPolicy={},
        startupPolicy={},
    )
    return deepcopy(found)


def at(path: str, value: object) -> Callable[[Object], None]:
    """Sets what stands at a path, whose parts are keys or positions."""

    def put(spec: Object) -> None:
        *parents, last = path.split(".")
        place: Any = spec
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        assert last not in place
        place[last] = value

    return put


WORKER = "replicatedJobs.1"
JOB = f"{WORKER}.template.spec"
RULES = f"{JOB}.podFailurePolicy.rules"
TEXTS = (
    f"{RULES}.0.onPodConditions.0.status",
    "failurePolicy.rules.0.name",
    "failurePolicy.restartStrategy",
    "network.subdomain",
    "successPolicy.operator",
    "startupPolicy.startupPolicyOrder",
    f"{WORKER}.groupName",
    "replicatedJobs.0.template.spec.template.spec.restartPolicy",
)
NUMBERS = ("coordinator.jobIndex", "coordinator.podIndex")
EMPTY: dict[str, object] = {
    f"{WORKER}.template.metadata": {},
    f"{JOB}.template.metadata": {},
    f"{RULES}.1.onPodConditions": [],
    "volumeClaimPolicies.0.retentionPolicy": {},
    "volumeClaimPolicies.0.templates.0.status": {},
}
NULLS = (
    *TEXTS,
    *NUMBERS,
    *EMPTY,
    "suspend",
    "ttlSecondsAfterFinished",
    "network.enableDNSHostnames",
    "network.publishNotReadyAddresses",
    "successPolicy.targetReplicatedJobs",
    "failurePolicy.rules.0.onJobFailureReasons",
    "failurePolicy.rules.0.onJobFailureMessagePatterns",
    "failurePolicy.rules.0.targetReplicatedJobs",
    f"{WORKER}.replicas",
    "replicatedJobs.0.dependsOn",
    f"{WORKER}.template.metadata.creationTimestamp",
    f"{WORKER}.template.metadata.labels",
    f"{WORKER}.template.metadata.annotations",
    f"{WORKER}.template.metadata.finalizers",
    f"{WORKER}.template.metadata.ownerReferences",
    f"{JOB}.template.metadata.creationTimestamp",
    f"{JOB}.template.metadata.labels",
    f"{JOB}.completionMode",
    f"{JOB}.backoffLimit",
    f"{JOB}.backoffLimitPerIndex",
    f"{JOB}.maxFailedIndexes",
    f"{JOB}.activeDeadlineSeconds",
    f"{JOB}.podReplacementPolicy",
    f"{JOB}.selector",
    f"{JOB}.manualSelector",
    f"{JOB}.managedBy",
    f"{JOB}.suspend",
    f"{JOB}.ttlSecondsAfterFinished",
    f"{JOB}.successPolicy",
    f"{RULES}.0.onExitCodes",
    f"{RULES}.1.onExitCodes.containerName",
    f"{JOB}.template.spec.initContainers",
    f"{JOB}.template.spec.volumes",
    f"{JOB}.template.spec.tolerations",
    f"{JOB}.template.spec.terminationGracePeriodSeconds",
    f"{JOB}.template.spec.containers.0.env",
    "replicatedJobs.0.template.spec.template.spec.containers.0.ports",
    "volumeClaimPolicies.0.retentionPolicy.whenDeleted",
    "volumeClaimPolicies.0.templates.0.metadata.labels",
    "volumeClaimPolicies.0.templates.0.metadata.annotations",
    "volumeClaimPolicies.0.templates.0.metadata.creationTimestamp",
)
CASES = [
    *(pytest.param(path, "", id=f"{path} ''") for path in TEXTS),
    *(pytest.param(path, 0, id=f"{path} 0") for path in NUMBERS),
    *(pytest.param(path, value, id=f"{path} empty") for path, value in EMPTY.items()),
    *(pytest.param(path, None, id=f"{path} null") for path in NULLS),
]


@pytest.mark.parametrize(("path", "value"), CASES)
def test_what_go_stores_of_an_absent_field_is_as_if_absent(path: str, value: object) -> None:
    stated = whole()
    at(path, value)(stated["spec"])
    read, absent = _plan(stated), _plan(whole())
    if ".spec.template.spec." in path and value is None:  # such a field goes into the pod as it is
        read = replace(read, groups=absent.groups)
    assert read == absent


@pytest.mark.parametrize("part", ["network", "successPolicy", "failurePolicy", "startupPolicy", "coordinator"])
def test_a_policy_that_is_null_is_absent(part: str) -> None:
    absent, null = whole(), whole()
    del absent["spec"][part]
    null["spec"][part] = None
    assert _plan(null) == _plan(absent)


@pytest.mark.parametrize("rules", [None, []])
def test_a_pod_failure_policy_without_rules_is_one_that_kubernetes_runs(rules: object) -> None:
    read = parse_jobset(jobset(job(job={"podFailurePolicy": {"rules": rules}}, pod=NEVER)))
    assert read.spec.replicated_jobs[0].template.spec.pod_failure_policy is not None


def test_an_empty_text_behind_a_pointer_is_refused_as_by_kubernetes() -> None:
    rule = {"action": "FailJob", "onExitCodes": {"containerName": "", "operator": "In", "values": [1]}}
    with pytest.raises(SpecError, match="containerName"):
        parse_jobset(jobset(job(job={"podFailurePolicy": {"rules": [rule]}}, pod=NEVER)))


def test_a_list_with_a_wrong_entry_is_not_called_empty() -> None:
    codes = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": ["one"]}}
    with pytest.raises(SpecError) as refused:
        parse_jobset(jobset(job(job={"podFailurePolicy": {"rules": [codes]}}, pod=NEVER)))
    assert [each.message for each in refused.value.problems] == ["a whole number is expected, not the text 'one'"]


def test_a_jaxjob_that_kueues_webhook_has_stored_is_read() -> None:
    container = {"name": "jax", "image": "i", "resources": {}}
    template = {"metadata": None, "spec": {"containers": [container]}}
    worker = {"replicas": 2, "restartPolicy": "", "template": template}
    spec = {"runPolicy": {"cleanPodPolicy": None, "suspend": None, "schedulingPolicy": None}}
    read = parse_jaxjob({"metadata": {"name": "t"}, "spec": {**spec, "jaxReplicaSpecs": {"Worker": worker}}})
    assert (read.replicas, read.worker.restart_policy) == (2, "Never")


def _plan(stated: Object) -> Plan:
    """The plan without the digest of its pod templates, which Muster passes on as they are."""
    return edited(plan_of(stated), shape="")
