"""One image takes long to come; everybody waits at the coordinator."""

from tests.simulation.scenario import End, Scenario, SlowImage

SCENARIO = Scenario(
    "slow-image",
    End("Succeeded", "AllMembersSucceeded"),
    sizes=(4,),
    befalls=(SlowImage(rank=-1, seconds=40.0),),
)
