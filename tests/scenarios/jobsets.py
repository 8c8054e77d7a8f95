"""JobSet objects: what follows a failed pod and a failed Job, and what JobSet's own status says of it."""

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


SCENARIOS = (
    Scenario(
        "jobset-runs",
        succeeded(own={"restarts": 0, "terminalState": "Completed", "conditions": COMPLETED}),
        operators=JOBSETS,
        core=True,
    ),
    # A pod fails, and its Job replaces it after 10 s: the JobSet does not notice.
    Scenario(
        "jobset-pod-replaced",
        succeeded(cause=("Error", -1), own={"restarts": 0, "conditions": COMPLETED}),
        operators=JOBSETS,
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # The same pod fails twice: the second one waits for 20 s.
    Scenario(
        "jobset-pod-replaced-twice",
        succeeded(cause=("Error", -1), own={"restarts": 0, "conditions": COMPLETED}),
        operators=JOBSETS,
        incidents=(Fails(rank=-1, attempts=range(2), after=4.0),),
        run=60.0,
    ),
    # The kubelet would start a container again: the pod is replaced, and its limit of two is two runs.
    Scenario(
        "jobset-on-failure",
        succeeded(cause=("Error", -1), own={"restarts": 0, "conditions": COMPLETED}),
        operators=JOBSETS,
        spec=on_failure(2),
        incidents=(Fails(rank=-1),),
    ),
    # The same, and the second failure is one too many.
    Scenario(
        "jobset-on-failure-twice",
        End("Failed", "FailureRule", cause=("Error", -1), own={"conditions": ("Failed/FailedJobs",)}),
        operators=JOBSETS,
        spec=on_failure(2),
        incidents=(Fails(rank=-1, attempts=range(2), after=4.0),),
        run=60.0,
    ),
    # A Job fails, and all Jobs run again.
    Scenario(
        "jobset-restarts",
        restarted(own=RAN_AGAIN),
        operators=JOBSETS,
        spec=twice({"maxRestarts": 2}, backoffLimit=0),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # A Job fails in every run, until the restarts are used.
    Scenario(
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
        operators=JOBSETS,
        spec=twice({"maxRestarts": 1}, backoffLimit=0),
        incidents=(Fails(rank=-1, epochs=EVERY_EPOCH),),
        core=True,
    ),
    # Restarts that are not to be counted go on although none is allowed.
    Scenario(
        "jobset-ignores-its-maximum",
        succeeded(
            epoch=2, cause=("Error", -1), own={"restarts": 2, "restartsCountTowardsMax": None, "conditions": RESTARTED}
        ),
        operators=JOBSETS,
        spec=twice({"rules": [{"action": "RestartJobSetAndIgnoreMaxRestarts"}]}, backoffLimit=0),
        incidents=(Fails(rank=-1, epochs=range(2)),),
    ),
    # A Job fails and runs again alone: the other one goes on.
    Scenario(
        "jobset-job-again",
        succeeded(restarts=1, cause=("Error", -1), own={"restarts": 0, "conditions": COMPLETED}),
        operators=JOBSETS,
        spec=twice({"maxRestarts": 1, "rules": [{"action": "RestartJob"}]}, backoffLimit=0),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # Exit code 42 fails the Job at once, and a rule the JobSet.
    Scenario(
        "jobset-fails-on-a-code",
        End(
            "Failed",
            "FailureRule",
            cause=("Error", -1),
            own={"terminalState": "Failed", "conditions": ("Failed/FailJobSetFailurePolicyAction",)},
        ),
        operators=JOBSETS,
        spec=twice(
            {"maxRestarts": 5, "rules": [{"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}]},
            podFailurePolicy=FAILED_ON_CODE,
        ),
        incidents=(Fails(rank=-1, code=42),),
    ),
    # A preempted pod is replaced, and the rule of its Job says that it is not counted.
    Scenario(
        "jobset-disruption-ignored",
        succeeded(disruptions=1, cause=("PreemptionByScheduler", -1), own={"restarts": 0, "conditions": COMPLETED}),
        operators=JOBSETS,
        spec=twice(backoffLimit=0, podFailurePolicy=FAILED_ON_CODE),
        incidents=(Preempted(rank=-1),),
        core=True,
    ),
)
