"""Ranks at work: what is said of those that others wait for, and for how long a silence of steps is no hang."""

from typing import Final

from muster.state.facts.context import Context
from muster.state.view.at_work import OWN_SECONDS
from muster.state.view.progress import HANG_INTERVALS, Progress
from muster.state.vocabulary.record import Phase

AGAIN: Final = 15.0
"""Seconds after which a silence of steps is judged again while ranks are at work."""


def workers(context: Context) -> frozenset[int]:
    """The ranks at work, as far as their processes show it. One that waits in a collective may spin, and is not."""
    epoch = context.record.epoch
    view = context.view
    known = view.places_of(epoch), view.collectives_of(epoch), view.progress_of(epoch)
    return frozenset().union(*(each.workers for each in known if each))


def _idle(context: Context) -> bool:
    """No rank waits for another: a notebook, say."""
    epoch = context.record.epoch
    stand, seen = context.view.places_of(epoch), context.view.collectives_of(epoch)
    return (stand is not None and stand.idle) or (seen is not None and seen.idle)


def bridges(context: Context, progress: Progress) -> bool:
    """No step is reported for long, and that is no hang: all ranks are idle, or the one that is behind is at work.

    Where none is behind, any rank at work is enough.
    """
    if _idle(context):
        return True
    at_work = workers(context)
    if not at_work or (progress.slowest is not None and progress.slowest not in at_work):
        return False
    return progress.read_at - progress.moved_at < max(OWN_SECONDS, HANG_INTERVALS * progress.longest)


def advice(context: Context) -> str:
    """``rank 0 is computing in evaluate (train.py:40); 2 ranks wait for it``; empty where nothing is said.

    It is no verdict: nothing follows from it.
    """
    epoch = context.record.epoch
    if context.record.phase is not Phase.RUNNING or context.tally.succeeded:
        return ""
    stand, seen = context.view.places_of(epoch), context.view.collectives_of(epoch)
    found = (seen.awaited if seen else None) or (stand.awaited if stand else None)
    return found.sentence if found else ""
