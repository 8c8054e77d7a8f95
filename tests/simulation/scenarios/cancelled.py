"""Cancelled in the middle of the run: it ends at once, for good."""

from tests.simulation.scenario import At, End, Scenario

SCENARIO = Scenario(
    "cancelled",
    End("Failed", "Cancelled"),
    people=(At(15.0, {"cancel": True}),),
    run=200.0,
)
