"""A member fails in the middle of the run; the others abort after it. One restart, then success."""

from tests.simulation.scenario import Dies, End, Scenario

SCENARIO = Scenario(
    "member-fails",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", -1)),
    befalls=(Dies(rank=-1, code=1),),
    core=True,
)
