"""Failures that are the same again, that differ, or that come later each time; and budgets that progress gives back."""

from functools import partial
from math import inf

from tests.scenarios.incidents import EVERY_EPOCH, Fails
from tests.scenarios.scenario import End, Scenario, Trouble, restarted

REASON = "SameFailureAgain"
RAISES = """step EPOCH1
Traceback (most recent call last):
  File "/app/train.py", line 41, in next
ValueError: sample EPOCH7 is NaN
"""
"""What a program prints that fails at one line with other numbers each time."""
OTHERS = (RAISES, RAISES.replace("line 41", "line 88"), RAISES.replace("ValueError", "OSError"))
SAID = (Trouble(REASON, (), 0.0, inf),)
"""It may be; ``oracles.recurrences`` knows when it must."""
OPERATORS = ("jax", "pytorch", "jobset")
FAMILIES = ("clean", "crash", "error", "late-write", "slow-answer", "hold", "drop", "takeover")
"""Faults that hide the end of an epoch, or the daemon from it."""
SHADOW = {"restartPolicy": {"backoffLimit": 6}}

row = partial(Scenario, operators=OPERATORS, spec=SHADOW, families=FAMILIES)

SCENARIOS = (
    # Three times the same; then the gang succeeds. It is named from the second failure on, and restarted all the same.
    row("same-failure", restarted(3), incidents=(Fails(epochs=range(3), says=RAISES),), troubles=SAID),
    # The same, where the spec says that it ends the experiment.
    row(
        "same-failure-ends",
        End("Failed", REASON, epoch=1, restarts=1, cause=("Error", -1)),
        spec={"restartPolicy": {"backoffLimit": 6, "sameFailureAction": "Fail"}},
        incidents=(Fails(epochs=EVERY_EPOCH, says=RAISES),),
        troubles=SAID,
    ),
    # Another line, another exception: no failure is the same as the one before it.
    row(
        "failures-differ",
        restarted(3),
        incidents=tuple(Fails(epochs=range(epoch, epoch + 1), says=says) for epoch, says in enumerate(OTHERS)),
        troubles=SAID,
    ),
    # The same failure, 40 steps later each time.
    row(
        "same-failure-later",
        restarted(3),
        operators=("jax",),
        incidents=tuple(
            Fails(epochs=range(epoch, epoch + 1), after=20.0 + 40.0 * epoch, says=RAISES) for epoch in range(3)
        ),
        reports=1.0,
        run=150.0,
        troubles=SAID,
    ),
    # The same failure at one step each time, after more than five minutes of work.
    row(
        "same-failure-at-a-step",
        restarted(3),
        operators=("jax",),
        incidents=(Fails(epochs=range(3), after=400.0, says=RAISES),),
        reports=1.0,
        run=450.0,
        troubles=SAID,
    ),
    # One restart is allowed, and three are needed; each comes after more than five minutes of work.
    row(
        "budget-renewed",
        restarted(3),
        operators=("jax", "pytorch"),
        spec={"restartPolicy": {"backoffLimit": 1, "renewOnProgress": True}},
        incidents=(Fails(epochs=range(3), after=330.0),),
        run=350.0,
    ),
)
