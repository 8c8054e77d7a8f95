"""The scheduler takes a member's place. That is done to the gang and not by it: it costs no restart."""

from tests.simulation.scenario import End, Preempted, Scenario

SCENARIO = Scenario(
    "preempted",
    End("Succeeded", "AllMembersSucceeded", epoch=1, disruptions=1, cause=("PreemptionByScheduler", -1)),
    befalls=(Preempted(rank=-1),),
)
