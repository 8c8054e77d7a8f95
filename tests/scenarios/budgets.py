"""Budgets of restarts: within a window, without progress, with jitter; several nodes that are avoided; targets."""

from tests.scenarios.incidents import EVERY_EPOCH, Ends, Fails
from tests.scenarios.operators import RESOURCES
from tests.scenarios.scenario import End, Scenario, restarted

TWO_GROUPS = {
    "data": {"count": 2, "completions": 1, "resources": RESOURCES},
    "train": {"count": 2, "completions": 1, "resources": RESOURCES},
}
"""Types of a jobset of four jobs: ranks 0 and 1, 2 and 3."""

SCENARIOS = (
    # A gang that fails again and again before it gets to work is no progress, which alone renews its budget.
    Scenario(
        "no-progress",
        End("Failed", "BackoffLimitExceeded", epoch=2, restarts=2, cause=("Error", -1)),
        sizes=(1, 4),
        spec={"restartPolicy": {"backoffLimit": 2, "renewOnProgress": True}},
        incidents=(Fails(rank=-1, epochs=EVERY_EPOCH, after=0.5, start=True),),
    ),
    # A restart waits for a part of its back-off that differs from gang to gang.
    Scenario(
        "jitter",
        restarted(2),
        spec={"restartPolicy": {"backoff": {"jitter": 0.5}}},
        incidents=(Fails(rank=-1, epochs=range(2)),),
    ),
    # The gang fails twice on one node and twice on another one: both are avoided in the end. Its epochs last so long
    # that no more than five begin within a minute, even where a fault ends one more of them.
    Scenario(
        "two-nodes-avoided",
        restarted(4, rank=0),
        spec={"restartPolicy": {"avoidNodes": {}, "backoffLimit": 6}},
        incidents=(Fails(rank=-1, epochs=range(2), after=15.0), Fails(rank=0, epochs=range(2, 4), after=15.0)),
    ),
    # Only one of the groups decides; the other one is stopped.
    Scenario(
        "target-is-enough",
        End("Succeeded", "SuccessPolicyMet"),
        operators=("jobset",),
        spec={"types": TWO_GROUPS, "successPolicy": {"targets": ["train"]}},
        incidents=(Ends(rank=2), Ends(rank=3, after=9.0)),
        run=900.0,
    ),
)
