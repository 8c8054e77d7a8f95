"""Users who edit, suspend, cancel or delete their Experiment."""

from math import inf

from muster.api.names import ANNOTATION_RESTART
from tests.scenarios.incidents import Fails
from tests.scenarios.operators import GANGS
from tests.scenarios.scenario import (
    SUCCEEDED,
    DeletesNamespace,
    End,
    Scenario,
    SubmitsAgain,
    TakesName,
    Trouble,
    UserAction,
    restarted,
    succeeded,
)

WATCHED = ("clean", "crash", "error", "late-write", "slow-answer", "reorder", "drop", "double", "relist", "stale",
           "clock-step", "takeover", "clock-skew", "stranger", "two-crashes")  # fmt: skip
"""All families but those in which the Experiment may first be seen after a user's second action."""

SCENARIOS = (
    # Cancelled in the middle of the run: it ends at once and for good.
    Scenario(
        "cancelled",
        End("Failed", "Cancelled"),
        sizes=(1, 4, 16),
        user_actions=(UserAction(15.0, {"cancel": True}, says="^Failed Cancelled"),),
        run=200.0,
    ),
    # A restart is asked for in the middle of the run: one new epoch, at once, that is charged to no budget.
    Scenario(
        "restart-requested",
        succeeded(epoch=1, cause=("Requested", None), other_ends=1),
        sizes=(1, 4, 16),
        operators=tuple(name for name, gang in GANGS.items() if not gang.of_run_kind),
        user_actions=(UserAction(15.0, annotations={ANNOTATION_RESTART: "a user, at noon"}),),
        spec={"restartPolicy": {"backoffLimit": 0}},
        run=200.0,
        families=WATCHED,
    ),
    # Deleted while the gang runs: the garbage collector takes all its objects, and none is created again.
    Scenario(
        "deleted",
        End(""),
        sizes=(1, 4, 16),
        user_actions=(UserAction(15.0, delete=True),),
        says=("^Running ",),
        run=200.0,
    ),
    # Deleted while its pods are being created.
    Scenario("deleted-at-start", End(""), sizes=(4, 16), user_actions=(UserAction(1.0195, delete=True),)),
    # Deleted, and another one of its name is submitted before its Service is collected: that one runs.
    Scenario(
        "submitted-again",
        SUCCEEDED,
        sizes=(1, 4, 16),
        user_actions=(UserAction(15.0, delete=True), SubmitsAgain(15.2)),
        troubles=(Trouble("NameTaken", ("left over",), since=15.2, within=inf, until=16.0 + 30.0),),
        run=100.0,
    ),
    # The namespace is deleted: its pods go first, and the Experiment some seconds later.
    Scenario(
        "namespace-deleted",
        End(""),
        user_actions=(DeletesNamespace(15.0),),
        troubles=(Trouble("", ("being terminated",), since=16.2, within=1.0, until=23.0),),
        run=200.0,
    ),
    # The command is edited in the middle of the run, which applies to the next epoch; a member fails and starts it.
    Scenario(
        "edited",
        restarted(),
        incidents=(Fails(rank=-1),),
        user_actions=(UserAction(8.0, {"command": "python better.py"}),),
    ),
    # A Service of the experiment's name exists already and has another owner: the experiment fails and says so.
    Scenario("name-taken", End("Failed", "NameTaken"), user_actions=(TakesName(0.5),)),
    # Suspended in the middle of the run and resumed minutes later: a new epoch that is charged to no budget.
    Scenario(
        "suspended",
        succeeded(epoch=1, other_ends=1),
        sizes=(1, 4, 16),
        user_actions=(
            UserAction(15.0, {"suspend": True}, says="^Suspended"),
            UserAction(240.0, {"suspend": False}, says="^Running RollComplete"),
        ),
        says=("^Succeeded AllMembersSucceeded",),
        run=150.0,
        settle_within=240.0,
        core=True,
    ),
)
