"""A node is lost and its pod never goes, and nobody has allowed force: the gang waits, and says for what."""

from tests.simulation.scenario import End, NodeLost, Scenario

SCENARIO = Scenario(
    "node-lost-blocks",
    End("Restarting", "TerminatingDeadlineExceeded", epoch=1, disruptions=1, cause=("DeletionByTaintManager", -1)),
    sizes=(4,),
    befalls=(NodeLost(rank=-1, evicted=30.0, collected=None),),
    survivors="hang",
    patience=600.0,  # the clock alerts after 120 s; pictures for people are refreshed at growing intervals
)
