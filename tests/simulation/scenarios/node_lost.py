"""A node is lost. Its pod is evicted, stays Terminating with nobody to end it, and is collected at last."""

from tests.simulation.scenario import End, NodeLost, Scenario

SCENARIO = Scenario(
    "node-lost",
    End("Succeeded", "AllMembersSucceeded", epoch=1, disruptions=1, cause=("DeletionByTaintManager", -1)),
    sizes=(1, 4, 16),
    befalls=(NodeLost(rank=-1, evicted=30.0, collected=70.0),),
    survivors="hang",
)
