"""A rank runs and never calls the coordinator; the assembly clock fails the experiment."""

from tests.simulation.scenario import Absent, End, Scenario

SCENARIO = Scenario(
    "never-arrives-fails",
    End("Failed", "AssemblyDeadlineExceeded", clock=60.0, since="assemblingTime"),
    sizes=(4, 16),
    spec={"clocks": {"assembly": {"after": "60s", "action": "Fail"}}},
    befalls=(Absent(rank=-1),),
    patience=130.0,
)
