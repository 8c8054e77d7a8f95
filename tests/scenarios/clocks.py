"""Clocks that expire and restart the gang or end the experiment."""

from math import inf

from tests.scenarios.incidents import Ends, NeverArrives, Unschedulable
from tests.scenarios.operators import COUNTED, NAMED, PROBED, TOGETHER
from tests.scenarios.scenario import SUCCEEDED, End, Scenario, Trouble, succeeded

NO_NODE = Trouble("", ("Unschedulable", "insufficient nvidia.com/gpu"), since=1.3, within=0.0, until=61.0)

SCENARIOS = (
    # A rank runs and never registers; the assembly clock fails the experiment.
    Scenario(
        "never-arrives-fails",
        End("Failed", "AssemblyDeadlineExceeded", cause=("RanksMissing", -1), clock=60.0, since="assemblingTime"),
        sizes=(4, 16),
        operators=NAMED,
        spec={"clocks": {"assembly": {"after": "60s", "action": "Fail"}}},
        incidents=(NeverArrives(rank=-1),),
        troubles=(Trouble("RanksMissing", ("missing rank",), since=9.3, within=3.0, until=62.3),),
        settle_within=130.0,
    ),
    # The same of a coordinator that counts its members and does not name them.
    Scenario(
        "one-of-a-count-never-arrives",
        End("Failed", "AssemblyDeadlineExceeded", cause=("RanksMissing", None), clock=60.0, since="assemblingTime"),
        sizes=(4, 16),
        operators=COUNTED,
        spec={"clocks": {"assembly": {"after": "60s", "action": "Fail"}}},
        incidents=(NeverArrives(rank=-1),),
        troubles=(Trouble("RanksMissing", ("does not name",), since=9.3, within=3.0, until=62.3),),
        settle_within=130.0,
    ),
    # A rank never registers in the first epoch; the assembly clock restarts the gang, and then all arrive.
    Scenario(
        "never-arrives-restarts",
        succeeded(epoch=1, restarts=1, cause=("AssemblyDeadlineExceeded", None), other_ends=1),
        sizes=(4, 16),
        operators=PROBED,
        spec={"clocks": {"assembly": {"after": "60s", "action": "Restart"}}},
        incidents=(NeverArrives(rank=-1, epochs=range(1)),),
        troubles=(
            Trouble("RanksMissing", ("missing rank",), since=9.3, within=3.0, until=62.3, operators=NAMED),
            Trouble("RanksMissing", ("does not name",), since=9.3, within=3.0, until=62.3, operators=COUNTED),
        ),
        settle_within=130.0,
    ),
    # The run takes longer than spec.timeout: the experiment fails and its pods are deleted.
    Scenario(
        "total-passes",
        End("Failed", "DeadlineExceeded", clock=300.0),
        sizes=(1, 4, 16),
        spec={"timeout": "5m"},
        says=(r"^Failed DeadlineExceeded the experiment did not finish within \S+",),
        run=10_000.0,
        settle_within=370.0,
    ),
    # An epoch runs for longer than it may: the clock counts from its assembly.
    Scenario(
        "run-passes",
        End("Failed", "RunDeadlineExceeded", clock=120.0, since="assembledTime"),
        sizes=(1, 4),
        spec={"clocks": {"run": {"after": "2m", "action": "Fail"}}},
        run=10_000.0,
        settle_within=190.0,
    ),
    # Members end one after another and then no more: the clock counts from the last end.
    Scenario(
        "progress-stops",
        End("Failed", "ProgressDeadlineExceeded"),
        operators=TOGETHER,
        spec={"clocks": {"progress": {"after": "1m", "action": "Fail"}}},
        incidents=(Ends(rank=1, after=30.0), Ends(rank=2, after=50.0)),
        run=10_000.0,
        settle_within=190.0,
    ),
    # The run ends a second before its deadline, while a live read for another clock may be under way.
    Scenario(
        "ends-before-its-deadline",
        SUCCEEDED,
        operators=TOGETHER,
        spec={"timeout": "62s", "clocks": {"pending": {"after": "60s", "action": "Fail"}}},
        run=58.0,
        families=("clean", "late-list"),
    ),
    # There is no node for a member; the pending clock fails the experiment.
    Scenario(
        "unschedulable-fails",
        End("Failed", "PendingDeadlineExceeded", clock=60.0, since="epochTime"),
        sizes=(1, 4),
        operators=TOGETHER,  # where one member runs at a time, the first one's node stops the clock
        spec={"clocks": {"pending": {"after": "60s", "action": "Fail"}}},
        incidents=(Unschedulable(rank=-1),),
        troubles=(NO_NODE, Trouble("RanksMissing", ("rank 3",), since=9.3, within=inf, operators=PROBED)),
        settle_within=130.0,
    ),
    # There is no node for a member in the first epoch; the pending clock restarts the gang.
    Scenario(
        "unschedulable-restarts",
        succeeded(epoch=1, restarts=1, cause=("PendingDeadlineExceeded", None), other_ends=1),
        operators=TOGETHER,  # where one member runs at a time, the first one's node stops the clock
        spec={"clocks": {"pending": {"after": "60s", "action": "Restart"}}},
        incidents=(Unschedulable(rank=-1, epochs=range(1)),),
        troubles=(NO_NODE, Trouble("RanksMissing", ("rank 3",), 9.3, inf, until=61.1, operators=PROBED)),
        settle_within=130.0,
    ),
)
