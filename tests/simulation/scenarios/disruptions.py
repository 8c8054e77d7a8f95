"""Members that are taken away: preemption and lost nodes. These cost no restart of the budget."""

from tests.simulation.scenarios.scenario import End, NodeLost, Preempted, Scenario

SCENARIOS = (
    # A node is lost. Its pod is evicted, stays Terminating without a kubelet, and is removed 40 s later.
    Scenario(
        "node-lost",
        End("Succeeded", "AllMembersSucceeded", epoch=1, disruptions=1, cause=("DeletionByTaintManager", -1)),
        sizes=(1, 4, 16),
        incidents=(NodeLost(rank=-1, evicted=30.0, collected=70.0),),
        survivors="hang",
    ),
    # The pod of a lost node is never removed and the spec does not allow force: the gang waits and names the pod.
    Scenario(
        "node-lost-blocks",
        End("Restarting", "TerminatingDeadlineExceeded", epoch=1, disruptions=1, cause=("DeletionByTaintManager", -1)),
        sizes=(4,),
        incidents=(NodeLost(rank=-1, evicted=30.0, collected=None),),
        survivors="hang",
        settle_within=600.0,  # the clock alerts after 120 s; status.message is refreshed at growing intervals
    ),
    # The pod of a lost node is never removed. The spec allows to delete it by force after 30 s.
    Scenario(
        "node-lost-for-ever",
        End("Succeeded", "AllMembersSucceeded", epoch=1, disruptions=1, cause=("DeletionByTaintManager", -1)),
        sizes=(4,),
        spec={"clocks": {"terminating": {"after": "30s", "action": "Restart"}}},
        incidents=(NodeLost(rank=-1, evicted=30.0, collected=None),),
        survivors="hang",
    ),
    # The scheduler preempts a member: a disruption, not a failure.
    Scenario(
        "preempted",
        End("Succeeded", "AllMembersSucceeded", epoch=1, disruptions=1, cause=("PreemptionByScheduler", -1)),
        incidents=(Preempted(rank=-1),),
        core=True,
    ),
)
