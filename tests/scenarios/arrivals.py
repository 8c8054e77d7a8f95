"""Gangs that assemble, late or not at all, while no clock ends them."""

from math import inf

from tests.scenarios.incidents import (
    ContainerWaits,
    CoordinatorFlaps,
    Fails,
    Gated,
    NeverArrives,
    Pauses,
    ReadinessFlaps,
    SlowImage,
)
from tests.scenarios.operators import COUNTED, MEETING, NAMED, PROBED, TOGETHER
from tests.scenarios.scenario import SUCCEEDED, End, Scenario, Trouble, restarted

LONG = ("clean", "crash", "slow-answer", "clock-skew")
"""Families for scenarios in which much happens for ten minutes: those of the daemon that writes."""

SCENARIOS = (
    # All members arrive, run and exit 0.
    Scenario("happy", SUCCEEDED, sizes=(1, 4, 16), core=True),
    # The coordinator starts alone; the other members start when it serves.
    Scenario(
        "coordinator-first",
        restarted(),
        operators=MEETING,
        spec={"startup": {"order": "CoordinatorFirst"}},
        incidents=(Fails(rank=-1),),
    ),
    # The coordinator runs and never opens its port. No clock is set: the experiment is Stuck and stays.
    Scenario(
        "coordinator-never-serves",
        End("Assembling", "CoordinatorNotServing"),
        operators=PROBED,
        incidents=(NeverArrives(rank=0),),
        troubles=(
            Trouble("CoordinatorNotServing", ("waiting for the coordinator to serve",), since=242.2, within=2.0),
        ),
        settle_within=700.0,  # a row of disruptions ends when all programs have run for ten minutes
    ),
    # A rank never registers, and the assembly clock only alerts: the gang waits, and status is no longer written.
    Scenario(
        "never-arrives-alerts",
        End("Assembling", "AssemblyDeadlineExceeded"),
        operators=PROBED,
        spec={"clocks": {"assembly": {"after": "60s", "action": "Alert"}}},
        incidents=(NeverArrives(rank=-1),),
        troubles=(
            Trouble("RanksMissing", ("missing rank 3", "running"), since=9.3, within=2.0, until=62.2, operators=NAMED),
            Trouble("RanksMissing", ("3/4 ranks arrived", "does not name"), 9.3, 2.0, until=62.2, operators=COUNTED),
            Trouble("AssemblyDeadlineExceeded", ("3/4 ranks arrived", "within 60 s"), since=62.2, within=2.0),
        ),
        settle_within=400.0,  # as in coordinator-never-serves
    ),
    # The coordinator answers one probe and not the next, for ten minutes: it is not lost.
    Scenario(
        "coordinator-flaps",
        SUCCEEDED,
        operators=PROBED,
        incidents=(CoordinatorFlaps(every=1.0),),
        run=620.0,
        most_writes=25,
        settle_within=120.0,
        families=LONG,
    ),
    # A program that reports steps pauses: for longer than a minute, which it announces, for less than a minute, and for
    # less than five times as long as that. No rank is behind in these, and none of it is a hang.
    Scenario(
        "steps-pause",
        SUCCEEDED,
        operators=("jax",),
        reports=1.0,
        incidents=(
            Pauses(after=20.0, seconds=200.0, announced=True),
            Pauses(after=40.0, seconds=50.0, together=True),
            Pauses(after=60.0, seconds=200.0, together=True),
        ),
        run=560.0,
        settle_within=120.0,
        families=LONG,
    ),
    # The first checkpoint takes 100 s and was not announced: it is called Hung until the next step, and ends nothing.
    Scenario(
        "steps-come-back",
        SUCCEEDED,
        operators=("jax",),
        reports=1.0,
        incidents=(Pauses(after=30.0, seconds=100.0, rank=2),),
        troubles=(Trouble("Hung", ("no step since", "rank 2 at "), since=93.0, within=6.0, until=133.0),),
        run=300.0,
        settle_within=120.0,
        families=("clean", "slow-answer", "clock-skew"),
    ),
    # No rank reports a step any more, though all run. No clock is set: it is Stuck and stays.
    # A daemon that takes over just before that waits for a minute of its own.
    Scenario(
        "steps-stop",
        End("Running", "Hung"),
        operators=("jax",),
        reports=1.0,
        incidents=(Pauses(after=100.0, seconds=inf, rank=2),),
        troubles=(Trouble("Hung", ("no step since", "rank 2 at "), since=163.0, within=66.0),),
        run=10_000.0,
        settle_within=700.0,
        families=LONG,
    ),
    # Rank 0 sends its steps to the daemon that leads. Daemons die and take over: a gang that gets on is never Hung.
    Scenario(
        "steps-are-sent",
        SUCCEEDED,
        sizes=(1, 4),
        operators=("jax", "xgboost"),
        reports=1.0,
        sends=True,
        incidents=(Pauses(after=20.0, seconds=50.0),),
        run=400.0,
        settle_within=120.0,
    ),
    # It sends no step any more. A daemon that has just taken over waits for two minutes more.
    Scenario(
        "sent-steps-stop",
        End("Running", "Hung"),
        operators=("jax", "xgboost"),
        reports=1.0,
        sends=True,
        incidents=(Pauses(after=100.0, seconds=inf),),
        troubles=(Trouble("Hung", ("no report since", "by 1 rank"), since=163.0, within=200.0),),
        run=10_000.0,
        settle_within=700.0,
        families=LONG,
    ),
    # It is silent for six seconds and answers for six, for ten minutes: that is said, and not each time.
    Scenario(
        "coordinator-comes-and-goes",
        SUCCEEDED,
        operators=PROBED,
        incidents=(CoordinatorFlaps(every=6.0),),
        troubles=(
            Trouble("CoordinatorUnreachable", (), since=13.4, within=19.0, until=680.0),
        ),  # in its second silence
        run=700.0,
        most_writes=25,
        settle_within=120.0,
        families=LONG,
    ),
    # A member is ready and not ready in turn, so that a sentence changes all the time where readiness is what is known.
    Scenario(
        "readiness-flaps",
        SUCCEEDED,
        operators=("xgboost", "jobset", "pytorch"),
        incidents=(ReadinessFlaps(every=3.0),),
        run=620.0,
        settle_within=120.0,
        families=LONG,
    ),
    # A queue keeps the gang's pods gated for longer than the pending clock lasts: no clock runs meanwhile.
    Scenario(
        "gated",
        SUCCEEDED,
        spec={"clocks": {"pending": {"after": "60s", "action": "Fail"}}},
        troubles=(Trouble("", ("SchedulingGated",), since=1.3, within=0.0),),
        incidents=tuple(Gated(rank=rank, seconds=200.0) for rank in range(4)),
        settle_within=240.0,
    ),
    # An image cannot be pulled at first.
    Scenario(
        "image-not-pulled",
        SUCCEEDED,
        incidents=(ContainerWaits(rank=-1, seconds=200.0),),
        troubles=(
            Trouble(
                "ImagePullBackOff", ("ImagePullBackOff", "rank 3"), 2.3, within=17.0, until=202.3, operators=TOGETHER
            ),
            Trouble("RanksMissing", ("rank 3",), since=9.3, within=inf, until=203.4, operators=PROBED),
        ),
        settle_within=240.0,
    ),
    # One image is pulled slowly; the other members wait at the coordinator.
    Scenario(
        "slow-image",
        SUCCEEDED,
        incidents=(SlowImage(rank=-1, seconds=40.0),),
        troubles=(Trouble("", ("rank 3", "ContainerCreating"), 9.3, 3.0, until=42.2, operators=NAMED),),
    ),
)
