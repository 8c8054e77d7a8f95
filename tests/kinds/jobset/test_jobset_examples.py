"""What JobSet's documentation shows, one JobSet per feature, as JobSet's webhook stores it: each can be planned."""

from typing import Any

import pytest

from muster.kinds.jobset.run import plan_of
from tests.kinds.jobset.jobsets import Object, job, jobset

TWO = {"completions": 2, "parallelism": 2, "backoffLimit": 0}
NEVER = {"restartPolicy": "Never"}
MOUNTS = {"containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": "model", "mountPath": "/model"}]}]}
CLAIMS = [
    {
        "templates": [{"metadata": {"name": "model"}, "spec": {"accessModes": ["ReadWriteOnce"]}, "status": {}}],
        "retentionPolicy": {"whenDeleted": "Retain"},
    }
]


def maintained(**rule: Any) -> Object:
    """A leader whose pods say with a podFailurePolicy what is the platform's doing, and its workers."""
    leader = job("leader", replicas=1, job={**TWO, "podFailurePolicy": {"rules": [rule]}}, pod=NEVER)
    return jobset(
        leader,
        job("workers", replicas=1, job=TWO),
        failurePolicy={
            "maxRestarts": 0,
            "rules": [
                {
                    "name": "failurePolicyRule0",
                    "action": "RestartJobSetAndIgnoreMaxRestarts",
                    "onJobFailureReasons": ["PodFailurePolicy"],
                },
                {"name": "", "action": "RestartJobSet", "targetReplicatedJobs": ["leader"]},
            ],
        },
    )


EXAMPLES: dict[str, Object] = {
    "maintenance of a host": maintained(action="FailJob", onPodConditions=[{"type": "DisruptionTarget", "status": ""}]),
    "an exit code and no condition": maintained(
        action="FailJob",
        onExitCodes={"containerName": "main", "operator": "In", "values": [1]},
        onPodConditions=[],
    ),
    "groups": jobset(job("a", job=TWO), job("b", groupName="second", job=TWO)),
    "waits for two": jobset(
        job("data"),
        job("model"),
        job(
            "node", job=TWO, dependsOn=[{"name": "data", "status": "Complete"}, {"name": "model", "status": "Complete"}]
        ),
    ),
    "in order": jobset(job("driver"), job("workers", job=TWO), startupPolicy={"startupPolicyOrder": "InOrder"}),
    "coordinator": jobset(job("workers", job=TWO), job("driver", job=TWO), coordinator={"replicatedJob": "driver"}),
    "one rack per Job": jobset(
        job("workers", replicas=3, job=TWO),
        annotations={"alpha.jobset.sigs.k8s.io/exclusive-topology": "example.org/rack"},
    ),
    "claims": jobset(
        job("initializer", pod=MOUNTS),
        job("node", job=TWO, pod=MOUNTS, dependsOn=[{"name": "initializer", "status": "Complete"}]),
        volumeClaimPolicies=CLAIMS,
    ),
    "any success": jobset(job("a"), job("b"), successPolicy={"operator": "Any", "targetReplicatedJobs": ["b"]}),
    "time to live": jobset(job(), ttlSecondsAfterFinished=0),
    "one Job again": jobset(job(replicas=3), failurePolicy={"maxRestarts": 3, "rules": [{"action": "RestartJob"}]}),
    "network": jobset(
        job(), network={"enableDNSHostnames": True, "subdomain": "jobs", "publishNotReadyAddresses": True}
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_jobset_documents_is_run(example: str) -> None:
    stated = EXAMPLES[example]
    plan = plan_of(stated)
    assert [group.name for group in plan.groups] == [each["name"] for each in stated["spec"]["replicatedJobs"]]


def test_a_condition_without_a_status_is_one_that_is_true() -> None:
    plan = plan_of(EXAMPLES["maintenance of a host"])
    stated = plan_of(maintained(action="FailJob", onPodConditions=[{"type": "DisruptionTarget", "status": "True"}]))
    assert plan.failures == stated.failures
