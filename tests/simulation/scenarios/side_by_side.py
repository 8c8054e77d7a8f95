"""Two experiments side by side: one fails and is restarted, and the other never notices."""

from tests.simulation.scenario import Dies, End, Scenario

SCENARIO = Scenario(
    "side-by-side",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", -1)),
    sizes=(1, 4),
    befalls=(Dies(rank=-1),),
    others={"other": End("Succeeded", "AllMembersSucceeded")},
)
