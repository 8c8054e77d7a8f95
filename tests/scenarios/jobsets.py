"""JobSet objects: what follows a failed pod and a failed Job, and what JobSet's own status says of it."""

from functools import partial
from typing import Any

from tests.scenarios.incidents import EVERY_EPOCH, Fails, Preempted
from tests.scenarios.objects import job, jobset
from tests.scenarios.operators import JOBSETS
from tests.scenarios.scenario import End, Scenario, restarted, succeeded

COMPLETED = ("Completed/AllJobsCompleted",)
RESTARTED = ("(RestartingJobSet/JobSetCompleted)", *COMPLETED)
RAN_AGAIN = {"restarts": 1, "restartsCountTowardsMax": 1, "terminalState": "Completed", "conditions": RESTARTED}
FAILED_ON_CODE = {
    "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}, {"action": "Ignore",
              "onPodConditions": [{"type": "DisruptionTarget"}]}]
}  # fmt: skip
"""A podFailurePolicy: exit code 42 ends the Job, a disruption is not counted."""


def twice(policy: dict[str, Any] | None = None, **inside: Any) -> dict[str, Any]:
    """Two Jobs of two pods with those fields, and that failure policy."""
    stated = {} if policy is None else {"failurePolicy": policy}
    return jobset(job("w", 2, replicas=2, job=inside), **stated)


def on_failure(limit: int) -> dict[str, Any]:
    """The same with containers that the kubelet would start again up to that limit."""
    spec = twice(backoffLimit=limit)
    spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    return spec


row = partial(Scenario, operators=JOBSETS)

SCENARIOS = (
    row(
        "jobset-runs", succeeded(own={"restarts": 0, "terminalState": "Completed", "conditions": COMPLETED}), core=True
    ),
    # A pod fails, and its Job replaces it after 10 s: the JobSet does not notice.
    row(
        "jobset-pod-replaced",
        succeeded(cause=("Error", -1), own={"restarts": 0, "conditions": COMPLETED}),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # The same pod fails twice: the second one waits for 20 s.
    row(
        "jobset-pod-replaced-twice",
        succeeded(cause=("Error", -1), own={"restarts": 0, "conditions": COMPLETED}),
        incidents=(Fails(rank=-1, attempts=range(2), after=4.0),),
        run=60.0,
    ),
    # The kubelet would start a container again: the pod is replaced, and its limit of two is two runs.
    row(
        "jobset-on-failure",
        succeeded(cause=("Error", -1), own={"restarts": 0, "conditions": COMPLETED}),
        spec=on_failure(2),
        incidents=(Fails(rank=-1),),
    ),
    # The same, and the second failure is one too many.
    row(
        "jobset-on-failure-twice",
        End("Failed", "FailureRule", cause=("Error", -1), own={"conditions": ("Failed/FailedJobs",)}),
        spec=on_failure(2),
        incidents=(Fails(rank=-1, attempts=range(2), after=4.0),),
        run=60.0,
    ),
    # A Job fails, and all Jobs run again.
    row(
        "jobset-restarts",
        restarted(own=RAN_AGAIN),
        spec=twice({"maxRestarts": 2}, backoffLimit=0),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # A Job fails in every run, until the restarts are used.
    row(
        "jobset-gives-up",
        End(
            "Failed",
            "BackoffLimitExceeded",
            epoch=1,
            restarts=1,
            cause=("Error", -1),
            own={
                "restarts": 1,
                "restartsCountTowardsMax": 1,
                "terminalState": "Failed",
                "conditions": ("(RestartingJobSet/JobSetFailed)", "Failed/ReachedMaxRestarts"),
            },
        ),
        spec=twice({"maxRestarts": 1}, backoffLimit=0),
        incidents=(Fails(rank=-1, epochs=EVERY_EPOCH),),
        core=True,
    ),
    # Restarts that are not to be counted go on although none is allowed.
    row(
        "jobset-ignores-its-maximum",
        succeeded(
            epoch=2, cause=("Error", -1), own={"restarts": 2, "restartsCountTowardsMax": None, "conditions": RESTARTED}
        ),
        spec=twice({"rules": [{"action": "RestartJobSetAndIgnoreMaxRestarts"}]}, backoffLimit=0),
        incidents=(Fails(rank=-1, epochs=range(2)),),
    ),
    # A Job fails and runs again alone: the other one goes on.
    row(
        "jobset-job-again",
        succeeded(restarts=1, cause=("Error", -1), own={"restarts": 0, "conditions": COMPLETED}),
        spec=twice({"maxRestarts": 1, "rules": [{"action": "RestartJob"}]}, backoffLimit=0),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # Exit code 42 fails the Job at once, and a rule the JobSet.
    row(
        "jobset-fails-on-a-code",
        End(
            "Failed",
            "FailureRule",
            cause=("Error", -1),
            own={"terminalState": "Failed", "conditions": ("Failed/FailJobSetFailurePolicyAction",)},
        ),
        spec=twice(
            {"maxRestarts": 5, "rules": [{"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}]},
            podFailurePolicy=FAILED_ON_CODE,
        ),
        incidents=(Fails(rank=-1, code=42),),
    ),
    # A preempted pod is replaced, and the rule of its Job says that it is not counted.
    row(
        "jobset-disruption-ignored",
        succeeded(disruptions=1, cause=("PreemptionByScheduler", -1), own={"restarts": 0, "conditions": COMPLETED}),
        spec=twice(backoffLimit=0, podFailurePolicy=FAILED_ON_CODE),
        incidents=(Preempted(rank=-1),),
        core=True,
    ),
)
