"""Hangs: programs run and make no progress. Three detectors fill one frame; the first that applies holds.

=================== ======================================================== ===================
detector            evidence                                                 reason
=================== ======================================================== ===================
``by_collectives``  ranks wait in a collective that others have not entered  ``CollectiveStuck``
``by_steps``        no rank has reported a step for too long                 ``Hung``
``by_places``       every rank is still, and not all are at one place        ``Hung``
=================== ======================================================== ===================

``state.view`` keeps the evidence, and knows how much of it is enough. ``diagnosis.hangs`` has the sentences.

A hang is an alert and no verdict, as every Stuck: the clock ``progress`` ends a gang that hangs, if the spec sets
it. Programs that report nothing do not hang, nor does a gang once a member has ended or a rank has left in good order:
it makes no further steps. (Initializers end before it begins.) Nor is it a hang if the pod of a rank that is late, or
is elsewhere, shows more than that: the pod has a cause of its own. A rank at work that others wait for is no hang
(``bridges``).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.view.places import Places, makes_no_step
from muster.state.view.progress import HANG_INTERVALS, Progress
from muster.state.view.recorder.arrivals import Arrivals
from muster.state.view.recorder.collectives import Collectives
from muster.state.view.stage import OWN_SECONDS, Awaited
from muster.state.vocabulary.record import Phase, Record

HUNG: Final = "Hung"
"""The reason of a condition Stuck whose programs run and make no step."""
COLLECTIVE_STUCK: Final = "CollectiveStuck"
"""The reason of a condition Stuck in which ranks wait for others in a collective."""
HANGS: Final = (HUNG, COLLECTIVE_STUCK)
"""The reasons of hangs: one hang may have either, as evidence comes."""
AGAIN: Final = 15.0
"""Seconds after which a silence of steps is judged again while ranks are at work."""


class Hang(NamedTuple):
    """A gang that makes no progress."""

    reason: str
    """The reason of the condition Stuck."""
    ranks: tuple[int, ...]
    """The ranks that are late, behind, or at another place than most; empty if none is."""
    since: float
    """The last sign of progress, in wall seconds."""
    evidence: Collectives | Progress | Places


def of(context: Context) -> Hang | None:
    """Return how the gang hangs; None if it makes progress, ends, or nothing shows it."""
    return by_collectives(context) or by_steps(context) or by_places(context)


def by_collectives(context: Context) -> Hang | None:
    """Return the hang that the counts of collectives show."""
    seen = context.view.collectives_of(context.record.epoch)
    if seen is None or not seen.behind or not _may_hang(context):
        return None
    ranks = tuple(late.member for each in seen.behind for late in each.late)
    return Hang(COLLECTIVE_STUCK, ranks, seen.moved_at, seen) if _look_well(context, ranks) else None


def by_steps(context: Context) -> Hang | None:
    """Return the hang that the reported steps show."""
    progress = context.view.progress_of(context.record.epoch)
    if progress is None or not progress.hung or not _may_hang(context) or bridges(context, progress):
        return None
    behind = () if progress.slowest is None else (progress.slowest,)
    apart = _outliers(context.view.places_of(context.record.epoch))
    return Hang(HUNG, (*behind, *apart), progress.moved_at, progress)


def by_places(context: Context) -> Hang | None:
    """Return the hang that the places of the ranks show.

    What a program reports of its steps counts: one that has made a step, or has announced a pause, moves.
    """
    stand, progress = context.view.places_of(context.record.epoch), context.view.progress_of(context.record.epoch)
    if stand is None or stand.still_since is None or not (_may_hang(context) and makes_no_step(progress)):
        return None
    if not _look_well(context, apart := _outliers(stand)):
        return None
    behind = () if progress is None or progress.slowest is None else (progress.slowest,)
    return Hang(HUNG, (*behind, *apart), stand.still_since if progress is None else progress.moved_at, stand)


def due(context: Context) -> float | None:
    """Return when the gang hangs if no report is sent until then; None if no such time is known."""
    progress = context.view.progress_of(context.record.epoch)
    if progress is None or context.record.phase is not Phase.RUNNING:
        return None
    if progress.hung and bridges(context, progress):
        return context.now + AGAIN
    return progress.hangs_at if progress.hangs_at is not None and progress.hangs_at > context.now else None


def awaits_evidence(context: Context, *reasons: str) -> bool:
    """Return True if the record has a hang of one of the ``reasons``, and this new leader has no evidence yet."""
    reason, view, epoch = context.record.stuck_reason, context.view, context.record.epoch
    if reason not in reasons or not works(context):
        return False
    if reason == COLLECTIVE_STUCK:
        seen = view.collectives_of(epoch)
        return seen is None or seen.unsure
    progress, stand = view.progress_of(epoch), view.places_of(epoch)
    if progress is not None and progress.moved:
        return False
    return stand is None or not (stand.still_since is not None or (progress is None and stand.moving))


def over(context: Context, before: Record) -> bool:
    """Return True if steps, collectives or places have moved since the gang of that record was called Stuck."""
    stuck, view, epoch = before.called_stuck, context.view, context.record.epoch
    if stuck is None or stuck.reason not in HANGS:
        return False
    counted = (view.progress_of(epoch), view.collectives_of(epoch))
    if any(each is not None and each.moved and each.moved_at > stuck.reason_since for each in counted):
        return True
    stand = view.places_of(epoch)
    return stand is not None and stand.moving


def slow(context: Context) -> Arrivals | None:
    """Return the ranks that come last to the collectives of a gang that makes progress; None if none do or may."""
    seen = context.view.arrivals_of(context.record.epoch)
    shown = seen is not None and seen.last and seen.hold(context.now) and _may_hang(context)
    return seen if shown and of(context) is None else None


def awaited(context: Context) -> Awaited | None:
    """Return the ranks at work that others wait for."""
    epoch = context.record.epoch
    if not works(context):
        return None
    stand, seen = context.view.places_of(epoch), context.view.collectives_of(epoch)
    return (seen.awaited if seen else None) or (stand.awaited if stand else None)


def bridges(context: Context, progress: Progress) -> bool:
    """Return True if a long silence of steps is no hang: all ranks are idle, or the one that is behind is at work.

    If none is behind, any rank at work is enough. No rank of a notebook waits for another: all are idle.
    """
    epoch, view = context.record.epoch, context.view
    stand, seen = view.places_of(epoch), view.collectives_of(epoch)
    if (stand is not None and stand.idle) or (seen is not None and seen.idle):
        return True
    at_work = frozenset[int]().union(*(each.workers for each in (stand, seen, view.progress_of(epoch)) if each))
    if not at_work or (progress.slowest is not None and progress.slowest not in at_work):
        return False
    return progress.read_at - progress.moved_at < max(OWN_SECONDS, HANG_INTERVALS * progress.longest)


def places(context: Context) -> Places | None:
    """Return the places of the ranks, as far as they are known.

    None while a rank is quiet that made progress in its last report: it may have been stopped elsewhere since.
    """
    stand = context.view.places_of(context.record.epoch)
    return None if stand is not None and stand.holds_until is not None and context.now > stand.holds_until else stand


def works(context: Context) -> bool:
    """Return True if the gang runs and no member of it has ended, beside those that end before it begins."""
    done = context.tally.succeeded
    return context.record.phase is Phase.RUNNING and (not done or done == sum(map(len, gates.prepared(context))))


def _may_hang(context: Context) -> bool:
    if context.tally.failed and context.record.stuck_reason not in HANGS:
        return False  # the others wait for the member that has failed; a hang of before may be why it has
    return works(context) and not (context.probe is not None and context.probe.leaving)


def _outliers(stand: Places | None) -> tuple[int, ...]:
    return tuple(rank for group in stand.outliers for rank in group.ranks) if stand is not None else ()


def _look_well(context: Context, ranks: Iterable[int]) -> bool:
    """Return True if the pods of these ranks show no cause of their own."""
    pods = map(context.tally.members.get, ranks)
    return all(pod and pod.started and pod.live and not (pod.terminating or pod.failed or pod.cut_off) for pod in pods)
