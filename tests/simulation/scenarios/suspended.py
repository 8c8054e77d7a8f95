"""Suspended in the middle of the run, and resumed a minute later: a new epoch, and nothing is counted."""

from tests.simulation.scenario import At, End, Scenario

SCENARIO = Scenario(
    "suspended",
    End("Succeeded", "AllMembersSucceeded", epoch=1, free=1),
    people=(At(15.0, {"suspend": True}), At(240.0, {"suspend": False})),
    run=150.0,
    patience=240.0,
)
