"""Hang: no rank of an assembled gang has reported a step for too long (``state.view.progress`` says how long that is).

Where programs report no steps, a gang hangs whose ranks all stand, and not at one place (``state.view.places``). Where
they do, that says so sooner. In both cases the sentence has where the ranks stand, as far as they say it.

It is an alert and no verdict, as every Stuck: the clock ``progress`` ends a gang that hangs, where the spec sets it. It
is never said of programs that do not report, nor once a member has ended or a rank has left in good order: a gang that
ends takes no further steps. Its sentence has the time of the last step and not its age, so that it is written once.
"""

from typing import Final

from muster.api.values.timestamps import clock_time
from muster.state.facts import at_work
from muster.state.facts.context import Context
from muster.state.view.places.sentence import sentence as placed
from muster.state.view.places.standstill import Places, makes_no_step
from muster.state.view.progress import Progress
from muster.state.vocabulary.record import ConditionType, Phase

HUNG: Final = "Hung"
"""The reason of a condition Stuck whose programs run and make no step."""


def hung(context: Context) -> Progress | None:
    """The progress of a gang that hangs; None where it makes progress, ends, or does not report."""
    progress = context.view.progress_of(context.record.epoch)
    if progress is None or not progress.hung or not _at_work(context):
        return None
    return None if at_work.bridges(context, progress) else progress


def still(context: Context) -> Places | None:
    """The places of a gang whose ranks all stand; None where one makes progress, where they end, or do not say it.

    What a program reports of its steps counts: one that has made a step, or has announced a pause, moves. Where the
    pod of a rank that stands elsewhere shows more than that, the pod's own cause is said.
    """
    stand, progress = context.view.places_of(context.record.epoch), context.view.progress_of(context.record.epoch)
    if stand is None or stand.still_since is None or not (_at_work(context) and makes_no_step(progress)):
        return None
    pods = (context.tally.members.get(rank) for group in stand.outliers for rank in group.ranks)
    well = all(pod and pod.started and pod.live and not (pod.terminating or pod.failed or pod.cut_off) for pod in pods)
    return stand if well else None


def _at_work(context: Context) -> bool:
    probe = context.probe
    running = context.record.phase is Phase.RUNNING and not context.tally.succeeded
    return running and not (probe is not None and probe.leaving)


def standstill(stand: Places) -> str:
    """Since when no rank makes progress, or all others wait for ranks at work, and where they are."""
    what = "ranks at work have kept the others waiting" if stand.awaited else "no progress"
    return f"{what} since {clock_time(stand.still_since or 0.0)}: {placed(stand)}"


def where(context: Context) -> str:
    """Where the ranks of a gang that hangs are: ``rank 37 is in next (data.py:41); the other 511 …``; or empty."""
    stand = known(context)
    return placed(stand) if stand is not None and stand.size > 1 else ""


def known(context: Context) -> Places | None:
    """Where the ranks stand, as far as that is known.

    None while a rank is quiet that made progress when it was heard last: it may have been stopped elsewhere since.
    """
    stand = context.view.places_of(context.record.epoch)
    return None if stand is not None and stand.holds_until is not None and context.now > stand.holds_until else stand


def due(context: Context) -> float | None:
    """When the gang hangs if no report is sent until then; None where no time brings that."""
    progress = context.view.progress_of(context.record.epoch)
    if progress is None or context.record.phase is not Phase.RUNNING:
        return None
    if progress.hung and at_work.bridges(context, progress):
        return context.now + at_work.AGAIN
    return progress.hangs_at if progress.hangs_at is not None and progress.hangs_at > context.now else None


def sentence(progress: Progress) -> str:
    """``no step since 05:12:02Z (last step 1841, rank 37 at 1839)``."""
    what = "no report" if progress.sent else "no step"
    return f"{what} since {clock_time(progress.moved_at)} ({last_step(progress)})"


def last_step(progress: Progress) -> str:
    """The last step, and who is behind."""
    if progress.slowest is None and progress.sent:
        return f"last step {progress.step}, by {progress.reporting} {'rank' if progress.reporting == 1 else 'ranks'}"
    if progress.slowest is None:
        return f"last step {progress.step}"
    return f"last step {progress.step}, rank {progress.slowest} at {progress.slowest_step}"


def unseen(context: Context) -> bool:
    """The record says that the gang hangs, and this daemon has seen no step yet: it has taken over in the hang."""
    stuck, progress = context.record.condition(ConditionType.STUCK), context.view.progress_of(context.record.epoch)
    if stuck is None or not stuck.status or stuck.reason != HUNG or context.record.phase is not Phase.RUNNING:
        return False
    stand = context.view.places_of(context.record.epoch)
    seen = progress is not None and progress.moved
    if stand is not None:
        seen = seen or stand.still_since is not None or (progress is None and stand.moving)
    return not seen and not context.tally.succeeded
