"""Hang: no rank of an assembled gang has reported a step for too long (``state.view.progress`` says how long that is).

It is an alert and no verdict, as every Stuck: the clock ``progress`` ends a gang that hangs, where the spec sets it. It
is never said of programs that do not report, nor once a member has ended or a rank has left in good order: a gang that
ends takes no further steps. Its sentence has the time of the last step and not its age, so that it is written once.
"""

from typing import Final

from muster.api.values.timestamps import whole_time
from muster.state.facts.context import Context
from muster.state.view.progress import Progress
from muster.state.vocabulary.record import ConditionType, Phase

HUNG: Final = "Hung"
"""The reason of a condition Stuck whose programs run and make no step."""


def hung(context: Context) -> Progress | None:
    """The progress of a gang that hangs; None where it gets on, ends, or does not report."""
    if context.record.phase is not Phase.RUNNING or context.tally.succeeded:
        return None
    probe, progress = context.probe, context.view.progress_of(context.record.epoch)
    if progress is None or not progress.hung or (probe is not None and probe.leaving):
        return None
    return progress


def stuck(context: Context) -> tuple[str, str] | None:
    """Reason and sentence of the condition Stuck, if the gang hangs."""
    progress = hung(context)
    return (HUNG, sentence(progress)) if progress else None


def sentence(progress: Progress) -> str:
    """Since when, the last step, and who is behind: ``rank 37 is behind at 1839``."""
    return f"no step since {whole_time(progress.moved_at)}; {last_step(progress)}"


def last_step(progress: Progress) -> str:
    """The last step, and who is behind."""
    if progress.slowest is None:
        return f"last step {progress.step}"
    return f"last step {progress.step}; rank {progress.slowest} is behind at {progress.slowest_step}"


def unseen(context: Context) -> bool:
    """The record says that the gang hangs, and this daemon has seen no step yet: it has taken over in the hang."""
    stuck, progress = context.record.condition(ConditionType.STUCK), context.view.progress_of(context.record.epoch)
    if stuck is None or not stuck.status or stuck.reason != HUNG or context.record.phase is not Phase.RUNNING:
        return False
    return (progress is None or not progress.moved) and not context.tally.succeeded
