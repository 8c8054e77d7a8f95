"""The coordinator's program runs and never opens its port. Without a clock it is called stuck, and that is all."""

from tests.simulation.scenario import Absent, End, Scenario

SCENARIO = Scenario(
    "coordinator-never-serves",
    End("Assembling", "CoordinatorNotServing"),
    sizes=(4,),
    befalls=(Absent(rank=0),),
    patience=400.0,  # a picture for people is refreshed at growing intervals, the last time after minutes
)
