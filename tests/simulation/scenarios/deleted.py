"""The Experiment is deleted while its gang runs: the garbage collector takes everything, and nothing comes back."""

from tests.simulation.scenario import At, End, Scenario

SCENARIO = Scenario(
    "deleted",
    End(""),
    people=(At(15.0, delete=True),),
    run=200.0,
)
