"""Members and jobs that run again, or are given up, within an epoch; limits of rules; nodes that are avoided."""

from typing import Any

from tests.scenarios.incidents import EVERY_EPOCH, Fails, Preempted
from tests.scenarios.operators import RESOURCES
from tests.scenarios.scenario import End, Scenario, restarted, succeeded

SUCCEEDED = succeeded(restarts=1, cause=("Error", -1))
APART = ("jobset",)
"""The operator whose members do not meet: one of them can run again alone."""
PAIRS = {"worker": {"count": 2, "completions": 2, "parallelisms": 2, "resources": RESOURCES}}
"""Two jobs of two members each."""


def rules(*stated: dict[str, Any]) -> dict[str, Any]:
    """A spec with these failure rules."""
    return {"failurePolicy": {"rules": list(stated)}}


SCENARIOS = (
    # A member fails and runs again; the others do not notice.
    Scenario(
        "member-runs-again",
        SUCCEEDED,
        operators=("jobset", "jobset-sequential"),
        spec=rules({"action": "RestartMember"}),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # A member is preempted and runs again when its pod is gone: that costs nothing.
    Scenario(
        "preempted-member-runs-again",
        succeeded(disruptions=1, cause=("PreemptionByScheduler", -1)),
        operators=APART,
        spec=rules({"action": "RestartMember"}),
        incidents=(Preempted(rank=-1),),
        core=True,
    ),
    # A member of the second job fails: both members of that job run again, and the first job goes on.
    Scenario(
        "job-runs-again",
        SUCCEEDED,
        operators=APART,
        spec={**rules({"action": "RestartJob"}), "types": PAIRS},
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # A member fails in every attempt until the budget is used.
    Scenario(
        "member-gives-up",
        End("Failed", "BackoffLimitExceeded", restarts=2, cause=("Error", -1)),
        operators=APART,
        spec={**rules({"action": "RestartMember"}), "restartPolicy": {"backoffLimit": 2}},
        incidents=(Fails(rank=-1, attempts=EVERY_EPOCH, after=2.0),),
        run=120.0,
    ),
    # The same, and the limit of the rule comes before the budget.
    Scenario(
        "rule-gives-up",
        End("Failed", "FailureRuleLimitExceeded", restarts=1, cause=("Error", -1)),
        operators=APART,
        spec=rules({"name": "flaky", "action": "RestartMember", "limit": 1}),
        incidents=(Fails(rank=-1, attempts=EVERY_EPOCH, after=2.0),),
        run=120.0,
    ),
    # A member fails and is given up: the others finish their work, and then the experiment fails.
    Scenario(
        "member-ignored",
        End("Failed", "IgnoredMembersFailed", cause=("Error", -1)),
        operators=APART,
        spec=rules({"action": "Ignore"}),
        incidents=(Fails(rank=-1),),
        core=True,
    ),
    # The gang fails twice on one node: the third epoch has its pod on another one.
    Scenario(
        "node-avoided",
        restarted(2),
        spec={"restartPolicy": {"avoidNodes": {}}},
        incidents=(Fails(rank=-1, epochs=range(2)),),
    ),
)
