"""A rank never calls, and the assembly clock only alerts: the gang waits for ever, and nothing is written any more."""

from tests.simulation.scenario import Absent, End, Scenario

SCENARIO = Scenario(
    "never-arrives-alerts",
    End("Assembling", "AssemblyDeadlineExceeded"),
    sizes=(4,),
    spec={"clocks": {"assembly": {"after": "60s", "action": "Alert"}}},
    befalls=(Absent(rank=-1),),
    patience=400.0,  # a picture for people is refreshed at growing intervals, the last time after minutes
)
