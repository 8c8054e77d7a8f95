"""The run takes longer than it may: the total clock ends it, and the pods go."""

from tests.simulation.scenario import End, Scenario

SCENARIO = Scenario(
    "total-passes",
    End("Failed", "DeadlineExceeded", clock=300.0),
    sizes=(1, 4, 16),
    spec={"timeout": "5m"},
    run=10_000.0,
    patience=370.0,
)
