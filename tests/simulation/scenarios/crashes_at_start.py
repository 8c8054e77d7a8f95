"""A member's program ends before the gang has met: the others are still waiting at the coordinator."""

from tests.simulation.scenario import Dies, End, Scenario

SCENARIO = Scenario(
    "crashes-at-start",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", -1)),
    sizes=(1, 4, 16),
    befalls=(Dies(rank=-1, after=0.5, start=True),),
)
