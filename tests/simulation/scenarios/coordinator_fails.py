"""The coordinator's own program fails: the same as for any member, though nobody answers the roll call any more."""

from tests.simulation.scenario import Dies, End, Scenario

SCENARIO = Scenario(
    "coordinator-fails",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", 0)),
    sizes=(4, 16),
    befalls=(Dies(rank=0, code=1),),
)
