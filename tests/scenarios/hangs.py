"""Gangs that hang, that seem to, or that wait for a member; questions for their stacks; and everyone who may end them.

What was known of a gang until its end is the cause of the end, by any actor.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from tests.scenarios.incidents import ContainerWaits, CoordinatorFlaps, Evaluates, Fails, Incident, NeverArrives, Pauses
from tests.scenarios.scenario import SUCCEEDED, Asks, End, Scenario, Trouble, UserAction

ASKED = tuple(Asks(second) for second in (60.0, 130.0, 131.0, 133.0, 180.0, 182.0, 240.0))
"""Users ask before a hang, while it is found, and when it is known; twice in a row, too."""
OFTEN = (*ASKED, *(Asks(300.0 + 2 * each) for each in range(40)), Asks(700.0))
FAMILIES = ("clean", "takeover")
STOPS = Pauses(after=100.0, seconds=inf, rank=2, epochs=range(1))
PLACES = Trouble("Hung", ("rank 2 is in next_batch (data.py:41)",), since=103.0, within=75.0, operators=("jax",))
COUNTS = Trouble("CollectiveStuck", ("rank 2 has entered only",), since=103.0, within=75.0, operators=("pytorch",))
LATER = 1_000_000.0
GIVES_UP = {"restartPolicy": {"backoffLimit": 0}}
TIMES_OUT = "TimeoutError: the other ranks did not answer within 1800 s\n"
LOST_A_PEER = (
    "E1128 05:00:00.000000 99 coordination_service_agent.cc:337] Polled an error from coordination service: "
    "UNAVAILABLE: failed to connect to all addresses\n"
    "F1128 05:00:00.000001 99 client.h:80] Terminating process because the JAX distributed service detected fatal "
    "errors. absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats)\n"
)
"""How a log of jax ends that has lost its coordinator or a peer."""


@dataclass(frozen=True, slots=True)
class _Block:
    """What keeps a gang, and how the end names it."""

    cause: str
    rank: int
    operator: str
    incident: Incident
    trouble: Trouble
    collectives: float = 0.0


@dataclass(frozen=True, slots=True)
class _Ending:
    """Who ends it."""

    phase: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    code: int = 0
    """Of rank 1, 250 s after the gang was assembled, or after its program was started; 0: it does not end."""
    says: str = ""
    actions: tuple[UserAction, ...] = ()


BLOCKS = {
    "hang": _Block("Hung", 2, "jax", STOPS, PLACES, 5.0),
    "collective": _Block("CollectiveStuck", 2, "pytorch", STOPS, COUNTS, 5.0),
    "image": _Block(
        "ImagePull",
        2,
        "jax",
        ContainerWaits(rank=2, seconds=LATER, epochs=range(1)),
        Trouble("ImagePullBackOff", ("ImagePullBackOff", "rank 2"), since=2.3, within=17.0),
    ),
    "missing": _Block(
        "RanksMissing",
        2,
        "jax",
        NeverArrives(rank=2, epochs=range(1)),
        Trouble("RanksMissing", ("missing rank 2",), since=9.3, within=3.0),
    ),
    "frozen": _Block(
        "CoordinatorLost",
        0,
        "jax",
        CoordinatorFlaps(every=150.0, epochs=range(1)),
        Trouble("CoordinatorUnreachable", (), since=153.4, within=75.0),
    ),
}
ENDINGS = {
    "deadline": _Ending("DeadlineExceeded", {"timeout": "4m"}),
    "cancel": _Ending("Cancelled", actions=(UserAction(240.0, {"cancel": True}),)),
    "kill": _Ending("BackoffLimitExceeded", GIVES_UP, 137),
    "time-out": _Ending("BackoffLimitExceeded", GIVES_UP, 1, TIMES_OUT),
    "exit-139": _Ending("BackoffLimitExceeded", GIVES_UP, 139, LOST_A_PEER),
    "segfault": _Ending("BackoffLimitExceeded", GIVES_UP, 139),
    "exit-1": _Ending("BackoffLimitExceeded", GIVES_UP, 1),
    "exit-143": _Ending("BackoffLimitExceeded", GIVES_UP, 143),
    "exit-134": _Ending("BackoffLimitExceeded", GIVES_UP, 134),
    "restart": _Ending("", {}, 137),
}
OF_ITS_OWN = ("segfault", "exit-1")
"""Ends that nothing sets apart from those of a program that fails by itself: they keep their own cause."""
PAIRS = (
    *(("hang", ending) for ending in ENDINGS),
    *(("collective", ending) for ending in ("deadline", "cancel", "kill", "time-out", "restart")),
    *(("image", ending) for ending in ("deadline", "cancel", "kill", "time-out")),
    *(("missing", ending) for ending in ("deadline", "cancel", "kill", "exit-139", "restart")),
    *(("frozen", ending) for ending in ("deadline", "cancel", "exit-139", "exit-134")),
)


def _row(block: str, ending: str) -> Scenario:
    """A gang that is kept by that, and ended so."""
    of, by = BLOCKS[block], ENDINGS[ending]
    works = block in ("hang", "collective", "frozen")
    incidents: tuple[Incident, ...] = (of.incident,)
    if by.code:
        incidents += (Fails(rank=1, after=230.0, code=by.code, start=not works, says=by.says),)
    end = End("Failed", by.phase, cause=(of.cause, of.rank))
    if ending in OF_ITS_OWN:
        end = replace(end, cause=("Error", 1))
    restarts = not by.phase or (block == "frozen" and by.code in (134, 139) and ending not in OF_ITS_OWN)
    if restarts:  # a coordinator is lost by the platform: that costs nothing
        lost = block == "frozen"
        end = replace(SUCCEEDED, epoch=1, restarts=int(not lost), disruptions=int(lost), cause=end.cause)
    return Scenario(
        f"{block}-{ending}",
        replace(end, clock=240.0) if ending == "deadline" else end,
        operators=(of.operator,),
        spec=by.spec,
        incidents=incidents,
        user_actions=(*ASKED, *by.actions),
        collectives=of.collectives,
        run=300.0 if restarts else 10_000.0,
        survivors="hang",
        troubles=(replace(of.trouble, until=inf),),
        settle_within=400.0,
        families=FAMILIES,
    )


SCENARIOS = (
    *(_row(block, ending) for block, ending in PAIRS),
    # No clock is set: it is Stuck and stays so, whoever asks for its stacks.
    *(
        Scenario(
            name,
            End("Running", BLOCKS[block].cause),
            operators=(BLOCKS[block].operator,),
            collectives=5.0,
            incidents=(STOPS,),
            user_actions=asked,
            troubles=(BLOCKS[block].trouble,),
            run=10_000.0,
            settle_within=700.0,
            families=("clean", "crash", "takeover", "slow-answer"),
        )
        for name, block, asked in (
            ("hang-asked", "hang", OFTEN),
            ("collective-asked", "collective", OFTEN),
            ("hang-asked-late", "hang", (Asks(250.0), Asks(400.0))),
        )
    ),
    # One rank computes, or writes, for minutes, and its stacks are asked for: it is no hang.
    *(
        Scenario(
            name,
            SUCCEEDED,
            operators=("jax", "pytorch"),
            collectives=5.0,
            incidents=(Evaluates(after=100.0, seconds=300.0, rank=2, writes=writes),),
            user_actions=ASKED,
            run=440.0,
            families=FAMILIES,
        )
        for name, writes in (("evaluation-asked", False), ("checkpoint-asked", True))
    ),
    # After ten minutes it is one, though it computes.
    Scenario(
        "evaluation-without-end",
        End("Running", "Hung"),
        operators=("jax",),
        collectives=5.0,
        incidents=(Evaluates(after=100.0, seconds=inf, rank=2),),
        user_actions=ASKED,
        troubles=(Trouble("Hung", (), since=703.0, within=75.0),),
        run=10_000.0,
        settle_within=1400.0,
        families=FAMILIES,
    ),
)
