"""The second epoch fails as the first did: the wait doubles, and the third epoch succeeds."""

from tests.simulation.scenario import Dies, End, Scenario

SCENARIO = Scenario(
    "fails-again",
    End("Succeeded", "AllMembersSucceeded", epoch=2, restarts=2, cause=("Error", -1)),
    sizes=(4,),
    befalls=(Dies(rank=-1, epochs=range(2)),),
)
