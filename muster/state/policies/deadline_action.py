"""Opt-in deadlines: a clock of a watched run that has run out ends it, if its own annotation asks for that.

This is the only thing that Muster ever does to a watched run. It uses the object's own way: its field ``suspend``, or
its deletion. The run has ended when its object reports that, and not when it was asked to.
"""

from typing import Final

from muster.state.facts.context import Context
from muster.state.policies import deadline
from muster.state.vocabulary.actions import EndRun
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction

ASKS: Final = "muster.dev/on-deadline"


def end(context: Context) -> tuple[EndRun, ...]:
    """Return the end of a run whose first passed clock asks for it."""
    plan, record = context.plan, context.record
    if record.finished or record.phase is Phase.SUSPENDED or not plan.watching.on_deadline or plan.lifecycle.deleting:
        return ()
    over = deadline.passed(context, deadline.ends(plan, record))
    passed = next((clock for clock in over if clock.action is ClockAction.FAIL), None)
    if passed is None:
        return ()
    pods = () if plan.subject.plural else tuple(context.tally.alive.values())
    what = f"the annotation {ASKS} asks to {plan.watching.on_deadline} it"
    return (EndRun(plan.watching.on_deadline, passed.reason, f"{deadline.sentence(context, passed)}; {what}", pods),)
