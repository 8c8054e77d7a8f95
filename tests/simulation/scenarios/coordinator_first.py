"""The coordinator starts alone, and the others only when it serves."""

from tests.simulation.scenario import Dies, End, Scenario

SCENARIO = Scenario(
    "coordinator-first",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", -1)),
    sizes=(4,),
    spec={"startup": {"order": "CoordinatorFirst"}},
    befalls=(Dies(rank=-1),),
)
