"""The coordinator's program runs and never opens its port. Without a clock it is called stuck, and that is all."""

from tests.simulation.scenario import Absent, End, Scenario

SCENARIO = Scenario(
    "coordinator-never-serves",
    End("Assembling", "CoordinatorNotServing"),
    sizes=(4,),
    befalls=(Absent(rank=0),),
    patience=700.0,  # a picture for people waits five times as long as the phase is old, here two minutes at most
)
