"""The command is edited in the middle of the run, which concerns the next epoch; a member fails, and that one comes."""

from tests.simulation.scenario import At, Dies, End, Scenario

SCENARIO = Scenario(
    "edited",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("Error", -1)),
    sizes=(4,),
    befalls=(Dies(rank=-1),),
    people=(At(8.0, {"command": "python better.py"}),),
)
