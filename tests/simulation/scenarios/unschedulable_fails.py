"""There is no node for a member; the pending clock fails the experiment."""

from tests.simulation.scenario import End, Scenario, Unschedulable

SCENARIO = Scenario(
    "unschedulable-fails",
    End("Failed", "PendingDeadlineExceeded", clock=60.0, since="epochTime"),
    sizes=(1, 4),
    spec={"clocks": {"pending": {"after": "60s", "action": "Fail"}}},
    befalls=(Unschedulable(rank=-1),),
    patience=130.0,
)
