"""Counts of a gang's missing ranks by cause: each rank has one cause of a closed list, and the counts add up.

The causes are those of counts that the view keeps (``view.tally``), so they cost the same for 8 members as for 10,000.
A rank without a pod has the cause for which its pod is missing.

Without an answer of the coordinator in this epoch (a daemon that has just started), the number of arrived ranks is
known, but not which they are. Then those that have come furthest count as arrived.
"""

from collections import Counter
from collections.abc import Mapping

from muster.state.facts import gates
from muster.state.facts.causes import table
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import ORDER, Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import of_absent
from muster.state.view.stage import Stage
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record


def by_cause(plan: Plan, record: Record, view: View, missing: int) -> Mapping[MissingCause, int]:
    """Return the number of ``missing`` ranks for each cause that some have; they add up to ``missing``."""
    counts = view.of(record.epoch).missing
    here = (Stage.READY, Stage.ENDED) if plan.asked is None else ()
    found: Counter[MissingCause] = Counter()
    left = missing
    for shows in sorted(counts, key=lambda shows: (shows.stage, ORDER[table.of_shown(shows)])):
        count = min(counts[shows], left) if shows.stage not in here else 0
        if count > 0:
            found[table.counted(table.of_shown(shows))] += count
            left -= count
    if left:
        found.update(_without_pods(Context.at(plan, record, view, 0.0), left))
    return found


def _without_pods(context: Context, absent: int) -> Mapping[MissingCause, int]:
    if (shared := of_absent(context)) is not None:
        return {table.counted(shared): absent}
    held = min(absent, gates.held_back(context))
    together = context.launched and not context.plan.sequential
    lost = absent - held if together else min(absent - held, len(context.tally.gone))
    counts = {Causes.HELD_BACK: held, Causes.LOST: lost, Causes.NOT_CREATED: absent - held - lost}
    return {cause: count for cause, count in counts.items() if count}
