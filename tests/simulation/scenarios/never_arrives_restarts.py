"""A rank never calls in the first epoch; the assembly clock restarts the gang, and then everybody comes."""

from tests.simulation.scenario import Absent, End, Scenario

SCENARIO = Scenario(
    "never-arrives-restarts",
    End("Succeeded", "AllMembersSucceeded", epoch=1, restarts=1, cause=("AssemblyDeadlineExceeded", None), free=1),
    sizes=(4, 16),
    spec={"clocks": {"assembly": {"after": "60s", "action": "Restart"}}},
    befalls=(Absent(rank=-1, epochs=range(1)),),
    patience=130.0,
)
