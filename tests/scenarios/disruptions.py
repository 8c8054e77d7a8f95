"""Members that are taken away: preemption and lost nodes. These cost no restart of the budget."""

from tests.scenarios.incidents import EVERY_EPOCH, NodeBoots, NodeLost, Preempted
from tests.scenarios.operators import TOGETHER
from tests.scenarios.scenario import End, Scenario, Trouble, disrupted

SCENARIOS = (
    # A node is lost. Its pod is evicted, stays Terminating without a kubelet, and is removed 40 s later.
    Scenario(
        "node-lost",
        disrupted("DeletionByTaintManager"),
        sizes=(1, 4, 16),
        incidents=(NodeLost(rank=-1, evicted=30.0, collected=70.0),),
        survivors="hang",
    ),
    # The pod of a lost node is never removed and the spec does not allow force: the gang waits and names the pod.
    Scenario(
        "node-lost-blocks",
        End("Restarting", "TerminatingDeadlineExceeded", epoch=1, disruptions=1, cause=("DeletionByTaintManager", -1)),
        incidents=(NodeLost(rank=-1, evicted=30.0, collected=None),),
        survivors="hang",
        troubles=(
            Trouble(
                "TerminatingDeadlineExceeded", ("on node node-3", "within 120 s"), 163.4, within=2.0, operators=TOGETHER
            ),
        ),
        settle_within=601.0,  # the clock alerts after 120 s; the remaining grace of old pods is cut after 600 s
    ),
    # The pod of a lost node is never removed. The spec allows to delete it by force after 30 s.
    Scenario(
        "node-lost-for-ever",
        disrupted("DeletionByTaintManager"),
        troubles=(
            Trouble(
                "TerminatingDeadlineExceeded",
                ("on node node-3", "within 30 s"),
                since=73.4,
                within=2.0,
                until=73.5,
                operators=TOGETHER,
            ),
        ),
        spec={"clocks": {"terminating": {"after": "30s", "action": "Restart"}}},
        incidents=(NodeLost(rank=-1, evicted=30.0, collected=None),),
        survivors="hang",
    ),
    # A node loses power for a moment. Nothing has seen how its containers ended (exit 255, Unknown), and no pod is
    # taken away: that is not the program's failure.
    Scenario(
        "node-boots",
        disrupted("ContainerStatusUnknown"),
        sizes=(1, 4),
        incidents=(NodeBoots(rank=-1),),
        survivors="hang",
    ),
    # Every epoch is preempted as soon as it runs, three times: from the second in a row the gang waits.
    Scenario(
        "preempted-again",
        disrupted("PreemptionByScheduler", times=3),
        incidents=(Preempted(rank=-1, epochs=range(3), after=2.0),),
        troubles=(
            Trouble(
                "DisruptionLoop", ("disruptions in a row",), since=19.7, within=2.0, until=52.5, operators=TOGETHER
            ),
        ),
    ),
    # Every epoch is preempted, and the spec limits how often in a row.
    Scenario(
        "preempted-to-the-limit",
        End("Failed", "MaxDisruptionsExceeded", epoch=2, disruptions=2, cause=("PreemptionByScheduler", -1)),
        spec={"restartPolicy": {"maxDisruptions": 2}},
        incidents=(Preempted(rank=-1, epochs=EVERY_EPOCH, after=2.0),),
    ),
    # The scheduler preempts a member: a disruption, not a failure.
    Scenario(
        "preempted", disrupted("PreemptionByScheduler"), sizes=(1, 4, 16), incidents=(Preempted(rank=-1),), core=True
    ),
)
