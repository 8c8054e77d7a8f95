"""JobSet objects whose Jobs run in turn, in order or for a limited time, and success policies."""

from functools import partial

from tests.scenarios.incidents import Ends, Fails
from tests.scenarios.jobsets import COMPLETED, twice
from tests.scenarios.objects import job, jobset
from tests.scenarios.operators import JOBSETS
from tests.scenarios.scenario import End, Scenario, restarted, succeeded

SUCCEEDED = succeeded(own={"restarts": 0, "conditions": COMPLETED})
POLICY_MET = End("Succeeded", "SuccessPolicyMet", own={"terminalState": "Completed", "conditions": COMPLETED})
IN_ORDER = "(StartupPolicyInProgress/InOrderStartupPolicyInProgress)"

row = partial(Scenario, operators=JOBSETS)

SCENARIOS = (
    # Each Job has more completions than it may run at once.
    row("jobset-in-turn", SUCCEEDED, spec=twice(parallelism=1), core=True),
    # The second replicated job starts when the first one is ready.
    row(
        "jobset-in-order",
        succeeded(own={"conditions": (IN_ORDER, "StartupPolicyCompleted/InOrderStartupPolicyCompleted", *COMPLETED)}),
        spec=jobset(job("a", 2), job("b", 2), startupPolicy={"startupPolicyOrder": "InOrder"}),
        core=True,
    ),
    # The second one waits for the completion of the first, also in the next run of both.
    row(
        "jobset-depends-on",
        restarted(own={"restarts": 1, "restartsCountTowardsMax": 1}),
        spec=jobset(
            job("a", 2, job={"backoffLimit": 0}),
            job("b", 2, job={"backoffLimit": 0}, dependsOn=[{"name": "a", "status": "Complete"}]),
            failurePolicy={"maxRestarts": 1},
        ),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # Any job is enough: the others are stopped.
    row(
        "jobset-any-job-is-enough",
        POLICY_MET,
        spec={**twice(), "successPolicy": {"operator": "Any"}},
        incidents=(Ends(rank=2), Ends(rank=3)),
        run=900.0,
    ),
    # Only one of the replicated jobs decides.
    row(
        "jobset-target",
        POLICY_MET,
        spec=jobset(job("a", 2), job("b", 2), successPolicy={"operator": "All", "targetReplicatedJobs": ["b"]}),
        incidents=(Ends(rank=2), Ends(rank=3, after=9.0)),
        run=900.0,
        core=True,
    ),
    # A Job takes longer than it may.
    row(
        "jobset-job-takes-too-long",
        End("Failed", "FailureRule", cause=("DeadlineExceeded", 0), own={"conditions": ("Failed/FailedJobs",)}),
        spec=twice(activeDeadlineSeconds=60),
        run=900.0,
        settle_within=130.0,
    ),
)
