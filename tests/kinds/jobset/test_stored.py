"""What Go code stores in a JobSet or a JAXJob for what the manifest leaves out is read as absent.

The fields are those of jobset_types.go and of batch/v1 and core/v1 types.go that a Go encoder writes while they are
empty, and null wherever a struct, a list or a pointer may stand.
"""

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


def whole() -> Object:
    """A JobSet that has every part which a zero value can stand in."""
    container = {"name": "main", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    disrupted = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}
    by_code = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}
    inside = {"completions": 2, "parallelism": 2, "podFailurePolicy": {"rules": [disrupted, by_code]}}
    worker = job("worker", job=inside, pod={**NEVER, "containers": [{**container}]})
    return jobset(
        job("driver", pod={"containers": [container]}),
        {**worker, "dependsOn": [{"name": "driver", "status": "Ready"}]},
        failurePolicy={"maxRestarts": 1, "rules": [{"action": "RestartJobSet"}]},
        coordinator={"replicatedJob": "worker"},
        volumeClaimPolicies=[{"templates": [claim]}],
        network={},
        successPolicy={},
        startupPolicy={},
    )


def put(spec: Any, path: str, value: object) -> None:
    """Set what is absent at a path, whose parts are keys or positions."""
    *parents, last = path.split(".")
    for part in parents:
        spec = spec[int(part)] if isinstance(spec, list) else spec.setdefault(part, {})
    assert last not in spec
    spec[last] = value


DRIVER, WORKER = "replicatedJobs.0", "replicatedJobs.1"
JOB, POD = f"{WORKER}.template.spec", f"{WORKER}.template.spec.template.spec"
RULES = f"{JOB}.podFailurePolicy.rules"
CLAIMS = "volumeClaimPolicies.0"
ZEROS: dict[str, object] = {
    f"{RULES}.0.onPodConditions.0.status": "",
    "failurePolicy.rules.0.name": "",
    "failurePolicy.restartStrategy": "",
    "network.subdomain": "",
    "successPolicy.operator": "",
    "startupPolicy.startupPolicyOrder": "",
    f"{WORKER}.groupName": "",
    f"{DRIVER}.template.spec.template.spec.restartPolicy": "",
    "coordinator.jobIndex": 0,
    "coordinator.podIndex": 0,
    f"{WORKER}.template.metadata": {},
    f"{JOB}.template.metadata": {},
    f"{RULES}.1.onPodConditions": [],
    f"{CLAIMS}.retentionPolicy": {},
    f"{CLAIMS}.templates.0.status": {},
}
METADATA = "creationTimestamp labels annotations"
NULLS = {
    "": "suspend ttlSecondsAfterFinished",
    "network.": "enableDNSHostnames publishNotReadyAddresses",
    "successPolicy.": "targetReplicatedJobs",
    "failurePolicy.rules.0.": "onJobFailureReasons onJobFailureMessagePatterns targetReplicatedJobs",
    f"{DRIVER}.": "dependsOn",
    f"{WORKER}.": "replicas",
    f"{WORKER}.template.metadata.": f"{METADATA} finalizers ownerReferences",
    f"{JOB}.template.metadata.": "creationTimestamp labels",
    f"{JOB}.": "completionMode backoffLimit backoffLimitPerIndex maxFailedIndexes activeDeadlineSeconds selector "
    "suspend podReplacementPolicy manualSelector managedBy ttlSecondsAfterFinished successPolicy",
    f"{RULES}.0.": "onExitCodes",
    f"{RULES}.1.onExitCodes.": "containerName",
    f"{POD}.": "initContainers volumes tolerations terminationGracePeriodSeconds",
    f"{POD}.containers.0.": "env",
    f"{DRIVER}.template.spec.template.spec.containers.0.": "ports",
    f"{CLAIMS}.retentionPolicy.": "whenDeleted",
    f"{CLAIMS}.templates.0.metadata.": METADATA,
}
"""By their place the fields that may be null, beside those of ``ZEROS``."""
CASES = [
    *ZEROS.items(),
    (f"{RULES}.0.onPodConditions.0.status", "True"),
    *((path, None) for path in ZEROS),
    *((f"{place}{field}", None) for place, fields in NULLS.items() for field in fields.split()),
]


@pytest.mark.parametrize(("path", "value"), [pytest.param(*case, id=f"{case[0]} {case[1]!r}") for case in CASES])
def test_what_go_stores_of_an_absent_field_is_as_if_absent(path: str, value: object) -> None:
    stated = whole()
    put(stated["spec"], path, value)
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


def failing(rules: object) -> Object:
    """A JobSet of one Job with these rules for its pods."""
    return jobset(job(job={"podFailurePolicy": {"rules": rules}}, pod=NEVER))


@pytest.mark.parametrize("rules", [None, []])
def test_a_pod_failure_policy_without_rules_is_one_that_kubernetes_runs(rules: object) -> None:
    read = parse_jobset(failing(rules))
    assert read.spec.replicated_jobs[0].template.spec.pod_failure_policy is not None


def test_an_empty_text_behind_a_pointer_is_refused_as_by_kubernetes() -> None:
    codes = {"containerName": "", "operator": "In", "values": [1]}
    with pytest.raises(SpecError, match="containerName"):
        parse_jobset(failing([{"action": "FailJob", "onExitCodes": codes}]))


def test_a_list_with_a_wrong_entry_is_not_called_empty() -> None:
    with pytest.raises(SpecError) as refused:
        parse_jobset(failing([{"action": "FailJob", "onExitCodes": {"operator": "In", "values": ["one"]}}]))
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
