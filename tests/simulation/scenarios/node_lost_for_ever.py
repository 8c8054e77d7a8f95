"""A node is lost and its pod never goes. The spec allows to delete it by force after a while."""

from tests.simulation.scenario import End, NodeLost, Scenario

SCENARIO = Scenario(
    "node-lost-for-ever",
    End("Succeeded", "AllMembersSucceeded", epoch=1, disruptions=1, cause=("DeletionByTaintManager", -1)),
    sizes=(4,),
    spec={"clocks": {"terminating": {"after": "30s", "action": "Restart"}}},
    befalls=(NodeLost(rank=-1, evicted=30.0, collected=None),),
    survivors="hang",
)
