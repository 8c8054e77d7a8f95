"""Gangs that step together, one of whose ranks comes to collectives later than the others; and healthy ones."""

from functools import partial

from tests.scenarios.incidents import Evaluates, Fails, Slow
from tests.scenarios.scenario import SUCCEEDED, Scenario, restarted

OPERATORS = ("pytorch",)
FAMILIES = ("clean", "crash", "error", "late-write", "slow-answer", "hold", "drop", "takeover")
"""Faults that hide what is said, or the daemon that says it."""

row = partial(Scenario, operators=OPERATORS, collectives=1.0, families=FAMILIES)

SCENARIOS = (
    # Half of each step is spent waiting for the last rank, for 7 minutes; then it is as fast as the others.
    row("slow-rank", SUCCEEDED, incidents=(Slow(behind=1.0, after=20.0, seconds=440.0),), run=880.0),
    # The slow rank has the store. Another one fails while it is named; the next epoch has no slow rank.
    row(
        "slow-rank-restarts",
        restarted(),
        incidents=(Slow(behind=1.0, rank=0, epochs=range(1)), Fails(after=450.0)),
        run=560.0,
    ),
    # One rank evaluates for three minutes while the others wait for it. It is no hang.
    row("rank-evaluates", SUCCEEDED, incidents=(Evaluates(after=40.0, seconds=180.0),), run=340.0),
    # Steps that vary, members that stall now and then, and one that costs a tenth of each step: nothing is said.
    row("ranks-vary", SUCCEEDED, sizes=(4, 16), incidents=(Slow(behind=0.1),), run=580.0),
)
