"""There is no node for a member in the first epoch; the pending clock restarts the gang."""

from tests.simulation.scenario import End, Scenario, Unschedulable

SCENARIO = Scenario(
    "unschedulable-restarts",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("PendingDeadlineExceeded", None), free=1),
    sizes=(4,),
    spec={"clocks": {"pending": {"after": "60s", "action": "Restart"}}},
    befalls=(Unschedulable(rank=-1, epochs=range(1)),),
    patience=130.0,
)
