"""What is expected of a RayJob that KubeRay runs, whose pods are its own, and what its status says."""

from typing import Any

import pytest

from muster.kinds.declaration import Claim, Place, PodFacts
from muster.kinds.ray.watched import claims, own_state, place_of, plan_of
from muster.state.view.own import OwnVerdict
from muster.state.vocabulary.group import Role

CLUSTER = {"headGroupSpec": {}, "workerGroupSpecs": [{"groupName": "w", "replicas": 2, "maxReplicas": 2}]}
BEGUN = {"rayClusterName": "rj-aaaaa", "jobId": "rj-bbbbb", "startTime": "2026-01-01T00:00:10Z"}


def job(status: Any = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "rj", "namespace": "team", "uid": "u-1", "generation": 1}
    whole = {"entrypoint": "python x.py", "rayClusterSpec": CLUSTER, **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": whole, "status": status}


@pytest.mark.parametrize(
    ("spec", "groups"),
    [
        ({}, {"headgroup": 0, "w": 1, "submitter": 3}),
        ({"submissionMode": "K8sJobMode"}, {"headgroup": 0, "w": 1, "submitter": 3}),
        ({"submissionMode": "HTTPMode"}, {"headgroup": 0, "w": 1}),
        ({"submissionMode": "SidecarMode"}, {"headgroup": 0, "w": 1}),
        ({"rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "shared"}}, {"submitter": 0}),
    ],
)
def test_the_members_are_those_of_the_cluster_and_the_submitter_that_has_a_pod(
    spec: dict[str, Any], groups: dict[str, int]
) -> None:
    plan = plan_of(job(**spec))
    assert {group.name: group.first_rank for group in plan.groups} == groups
    submitter = plan.group("submitter")
    assert submitter is None or submitter.role is Role.SUBMITTER
    assert (plan.coordinator is None) == ("headgroup" not in groups)


def test_the_program_is_known_to_ray_by_the_id_of_the_attempt() -> None:
    assert plan_of(job(BEGUN)).submission(7) == "rj-bbbbb"


def test_the_pods_of_the_present_cluster_and_the_submitter_are_claimed() -> None:
    assert claims(job()) == (Claim("rayjob/rj"),)
    assert claims(job(BEGUN)) == (Claim("raycluster/rj-aaaaa"), Claim("rayjob/rj"))
    borrowed = job({"rayClusterName": "shared"}, rayClusterSpec=None, clusterSelector={"ray.io/cluster": "shared"})
    assert claims(borrowed) == (Claim("rayjob/rj"),)


def test_a_submitter_is_found_by_the_name_of_its_rayjob() -> None:
    labels = {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "rj"}
    assert place_of(PodFacts("rj-x", "team", labels, {})) == Place("rayjob/rj", "submitter", 0, 0)
    assert place_of(PodFacts("x", "team", {**labels, "ray.io/cluster": "rc"}, {})) is None
    assert place_of(PodFacts("x", "team", {**labels, "ray.io/originated-from-crd": "RayService"}, {})) is None


ENDED = {**BEGUN, "jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "endTime": "2026-01-01T00:01:00Z"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "they run until RayCluster rj-aaaaa is deleted (shutdownAfterJobFinishes is false)"),
        (
            {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 300},
            "RayCluster rj-aaaaa is due to be deleted at 2026-01-01T00:06:00Z (ttlSecondsAfterFinished: 300)",
        ),
        ({"deletionStrategy": {"deletionRules": []}}, "they run until"),
        (
            {"deletionStrategy": {"deletionRules": [{"policy": "DeleteNone"}]}},
            "spec.deletionStrategy decides when they",
        ),
        ({"rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "rj-aaaaa"}}, ""),
        ({"ttlSecondsAfterFinished": "soon"}, ""),
    ],
    ids=["default", "after its ttl", "no rules", "rules", "a borrowed cluster", "unreadable"],
)
def test_what_becomes_of_the_cluster_after_the_end_follows_from_the_spec(spec: dict[str, Any], words: str) -> None:
    clearing = own_state(job(ENDED, **spec)).clearing
    assert clearing.startswith(words)
    assert bool(clearing) is bool(words)


def verdict_of(**status: Any) -> tuple[OwnVerdict, str, str]:
    own = own_state(job({**BEGUN, **status}))
    return own.verdict, own.reason, own.message


DEADLINE = "The RayJob has passed the activeDeadlineSeconds. StartTime: 1"
LOG = "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):\nTraceback"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"jobDeploymentStatus": "Initializing"}, (OwnVerdict.NOTHING, "", "")),
        ({"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "message": "x"}, (OwnVerdict.NOTHING, "", "")),
        ({"jobDeploymentStatus": "Running", "jobStatus": "SUCCEEDED"}, (OwnVerdict.NOTHING, "", "")),
        (
            {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "message": "Job finished successfully."},
            (OwnVerdict.SUCCEEDED, "JobSucceeded", "Job finished successfully."),
        ),
        (
            {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED", "message": "Job was intentionally stopped."},
            (OwnVerdict.FAILED, "JobStopped", "Job was intentionally stopped."),
        ),
        ({"jobDeploymentStatus": "Complete"}, (OwnVerdict.FAILED, "JobUnknown", "")),
        (
            {"jobDeploymentStatus": "Failed", "reason": "AppFailed", "jobStatus": "FAILED", "message": LOG},
            (OwnVerdict.FAILED, "AppFailed", "Job entrypoint command failed with exit code 1"),
        ),
        (
            {"jobDeploymentStatus": "ValidationFailed", "message": "name too long"},
            (OwnVerdict.FAILED, "ValidationFailed", "name too long"),
        ),
        (
            {"jobDeploymentStatus": "Running", "jobStatus": "FAILED", "message": LOG},
            (OwnVerdict.NOTHING, "JobFailed", "Job entrypoint command failed with exit code 1"),
        ),
        (
            {"jobDeploymentStatus": "Retrying", "reason": "AppFailed", "jobStatus": "FAILED", "message": LOG},
            (OwnVerdict.NOTHING, "AppFailed", "Job entrypoint command failed with exit code 1"),
        ),
    ],
)
def test_a_status_says(status: dict[str, Any], expected: tuple[OwnVerdict, str, str]) -> None:
    assert verdict_of(**status) == expected


def test_the_status_of_the_program_after_a_deadline_is_reported_to_be_of_then() -> None:
    verdict, reason, message = verdict_of(
        jobDeploymentStatus="Failed", reason="DeadlineExceeded", jobStatus="RUNNING", message=DEADLINE
    )
    assert (verdict, reason) == (OwnVerdict.FAILED, "DeadlineExceeded")
    after = "the program was RUNNING then and is not stopped before its RayCluster is deleted"
    assert message == f"{DEADLINE}; {after}"


@pytest.mark.parametrize("state", ["Suspending", "Suspended"])
def test_a_suspension_is_what_state_or_spec_say(state: str) -> None:
    assert verdict_of(jobDeploymentStatus=state)[0] is OwnVerdict.SUSPENDED
    assert own_state(job({**BEGUN, "jobDeploymentStatus": "Running"}, suspend=True)).verdict is OwnVerdict.SUSPENDED
    over = own_state(job({"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}, suspend=True))
    assert over.verdict is OwnVerdict.SUCCEEDED, "what has ended is not suspended"


def test_the_attempt_is_named_by_its_cluster() -> None:
    own = own_state(job(BEGUN))
    assert (own.attempt, own.started_at) == ("rj-aaaaa", 1767225610.0)
    assert own_state(job({"jobDeploymentStatus": ""})).attempt == ""
