"""Gangs that step together, one of whose ranks comes to collectives later than the others; and healthy ones."""

from tests.scenarios.incidents import Evaluates, Fails, Slow
from tests.scenarios.scenario import SUCCEEDED, Scenario, restarted

OPERATORS = ("pytorch",)
FAMILIES = ("clean", "crash", "error", "late-write", "slow-answer", "hold", "drop", "takeover")
"""Faults that hide what is said, or the daemon that says it."""

SCENARIOS = (
    # Half of each step is spent waiting for the last rank, for 7 minutes; then it is as fast as the others.
    Scenario(
        "slow-rank",
        SUCCEEDED,
        operators=OPERATORS,
        incidents=(Slow(behind=1.0, after=20.0, seconds=440.0),),
        collectives=1.0,
        run=880.0,
        families=FAMILIES,
    ),
    # The slow rank has the store. Another one fails while it is named; the next epoch has no slow rank.
    Scenario(
        "slow-rank-restarts",
        restarted(),
        operators=OPERATORS,
        incidents=(Slow(behind=1.0, rank=0, epochs=range(1)), Fails(after=450.0)),
        collectives=1.0,
        run=560.0,
        families=FAMILIES,
    ),
    # One rank evaluates for three minutes while the others wait for it. It is no hang.
    Scenario(
        "rank-evaluates",
        SUCCEEDED,
        operators=OPERATORS,
        incidents=(Evaluates(after=40.0, seconds=180.0),),
        collectives=1.0,
        run=340.0,
        families=FAMILIES,
    ),
    # Steps that vary, members that stall now and then, and one that costs a tenth of each step: nothing is said.
    Scenario(
        "ranks-vary",
        SUCCEEDED,
        sizes=(4, 16),
        operators=OPERATORS,
        incidents=(Slow(behind=0.1),),
        collectives=1.0,
        run=580.0,
        families=FAMILIES,
    ),
)
