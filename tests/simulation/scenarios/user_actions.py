"""Users who edit, suspend, cancel or delete their Experiment."""

from tests.simulation.scenarios.scenario import End, Fails, Scenario, TakesName, UserAction

SCENARIOS = (
    # Cancelled in the middle of the run: it ends at once and for good.
    Scenario(
        "cancelled",
        End("Failed", "Cancelled"),
        user_actions=(UserAction(15.0, {"cancel": True}),),
        run=200.0,
    ),
    # Deleted while the gang runs: the garbage collector takes all its objects, and none is created again.
    Scenario(
        "deleted",
        End(""),
        user_actions=(UserAction(15.0, delete=True),),
        run=200.0,
    ),
    # Deleted while its pods are being created.
    Scenario("deleted-at-start", End(""), sizes=(4, 16), user_actions=(UserAction(1.0195, delete=True),)),
    # The command is edited in the middle of the run, which applies to the next epoch; a member fails and starts it.
    Scenario(
        "edited",
        End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", -1)),
        sizes=(4,),
        incidents=(Fails(rank=-1),),
        user_actions=(UserAction(8.0, {"command": "python better.py"}),),
    ),
    # A Service of the experiment's name exists already and has another owner: the experiment fails and says so.
    Scenario("name-taken", End("Failed", "NameTaken"), sizes=(4,), user_actions=(TakesName(0.5),)),
    # Suspended in the middle of the run and resumed minutes later: a new epoch that is charged to no budget.
    Scenario(
        "suspended",
        End("Succeeded", "AllMembersSucceeded", epoch=1, other_ends=1),
        user_actions=(UserAction(15.0, {"suspend": True}), UserAction(240.0, {"suspend": False})),
        run=150.0,
        settle_within=240.0,
        core=True,
    ),
)
