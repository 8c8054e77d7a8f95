"""JobSet objects whose Jobs run in turn, in order, in part, or end early: fields of a Job, and success policies."""

from dataclasses import replace

from tests.scenarios.incidents import Ends, Fails
from tests.scenarios.jobsets import COMPLETED, twice
from tests.scenarios.objects import job, jobset
from tests.scenarios.operators import JOBSETS
from tests.scenarios.scenario import End, Scenario

SUCCEEDED = End("Succeeded", "AllMembersSucceeded", own={"restarts": 0, "conditions": COMPLETED})
POLICY_MET = End("Succeeded", "SuccessPolicyMet", own={"terminalState": "Completed", "conditions": COMPLETED})
IN_ORDER = "(StartupPolicyInProgress/InOrderStartupPolicyInProgress)"

SCENARIOS = (
    # Each Job has more completions than it may run at once.
    Scenario(
        "jobset-in-turn",
        SUCCEEDED,
        sizes=(4,),
        operators=JOBSETS,
        spec=twice(parallelism=1),
        core=True,
    ),
    # The second replicated job starts when the first one is ready.
    Scenario(
        "jobset-in-order",
        End(
            "Succeeded",
            "AllMembersSucceeded",
            own={"conditions": (IN_ORDER, "StartupPolicyCompleted/InOrderStartupPolicyCompleted", *COMPLETED)},
        ),
        sizes=(4,),
        operators=JOBSETS,
        spec=jobset(job("a", 2), job("b", 2), startupPolicy={"startupPolicyOrder": "InOrder"}),
        core=True,
    ),
    # The second one waits for the completion of the first, also in the next run of both.
    Scenario(
        "jobset-depends-on",
        End(
            "Succeeded",
            "AllMembersSucceeded",
            epoch=1,
            restarts=1,
            cause=("BackoffLimitExceeded", -1),
            own={"restarts": 1, "restartsCountTowardsMax": 1},
        ),
        sizes=(4,),
        operators=JOBSETS,
        spec=jobset(
            job("a", 2, job={"backoffLimit": 0}),
            job("b", 2, job={"backoffLimit": 0}, dependsOn=[{"name": "a", "status": "Complete"}]),
            failurePolicy={"maxRestarts": 1},
        ),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # Any job is enough: the others are stopped.
    Scenario(
        "jobset-any-job-is-enough",
        POLICY_MET,
        sizes=(4,),
        operators=JOBSETS,
        spec={**twice(), "successPolicy": {"operator": "Any"}},
        incidents=(Ends(rank=2), Ends(rank=3)),
        run=900.0,
    ),
    # Only one of the replicated jobs decides.
    Scenario(
        "jobset-target",
        POLICY_MET,
        sizes=(4,),
        operators=JOBSETS,
        spec=jobset(job("a", 2), job("b", 2), successPolicy={"operator": "All", "targetReplicatedJobs": ["b"]}),
        incidents=(Ends(rank=2), Ends(rank=3, after=9.0)),
        run=900.0,
        core=True,
    ),
    # The first index of each Job is enough for it: the others are stopped.
    Scenario(
        "jobset-jobs-succeed-early",
        SUCCEEDED,
        sizes=(4,),
        operators=JOBSETS,
        spec=twice(successPolicy={"rules": [{"succeededIndexes": "0"}]}),
        incidents=(Ends(rank=0), Ends(rank=2, after=9.0)),
        run=900.0,
    ),
    # An index that fails for good leaves the other one at work, and then its Job fails.
    Scenario(
        "jobset-index-given-up",
        End(
            "Failed",
            "FailedJobs",
            cause=("FailedIndexes", -1),
            own={"terminalState": "Failed", "conditions": ("Failed/FailedJobs",)},
        ),
        sizes=(4,),
        operators=JOBSETS,
        spec=twice(backoffLimitPerIndex=0),
        incidents=(Fails(rank=-1),),
    ),
    # A Job takes longer than it may.
    Scenario(
        "jobset-job-takes-too-long",
        End("Failed", "FailedJobs", cause=("DeadlineExceeded", 0), own={"conditions": ("Failed/FailedJobs",)}),
        sizes=(4,),
        operators=JOBSETS,
        spec=twice(activeDeadlineSeconds=60),
        run=900.0,
        settle_within=130.0,
    ),
    # The pods work off a queue: the first success winds it up, and a pod that fails then is not replaced.
    Scenario(
        "jobset-work-queue",
        replace(SUCCEEDED, cause=("Error", -1)),
        sizes=(4,),
        operators=JOBSETS,
        spec=jobset(job("w", 4, job={"completions": None, "completionMode": "NonIndexed"})),
        incidents=(Ends(rank=0), Fails(rank=-1)),
    ),
)
