"""What keeps the missing ranks of a gang: each has one cause of a closed list, and the counts add up.

The causes are read from counts that the view keeps (``view.tally``, ``view.stage``), so they cost the same for 8
members as for 10,000. A rank without a pod has the cause for which its pod is not there.

Without an answer of the coordinator in this epoch (a daemon that has just started) it is not known which ranks have
arrived, but only how many. Then those that have come furthest count as arrived.
"""

from collections.abc import Mapping

from muster.state.facts import gates, older_pods
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.cause import MissingCause
from muster.state.view.read_only import ReadOnlyView
from muster.state.view.stage import Stage
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase, Record

_CAUSE_OF = {
    Stage.QUEUED: MissingCause.QUEUED,
    Stage.UNSCHEDULABLE: MissingCause.UNSCHEDULABLE,
    Stage.SCHEDULING: MissingCause.SCHEDULING,
    Stage.IMAGE_PULL: MissingCause.IMAGE_PULL,
    Stage.CONTAINER_CANNOT_START: MissingCause.CONTAINER_CANNOT_START,
    Stage.STARTING: MissingCause.STARTING,
    Stage.UNKNOWN: MissingCause.UNKNOWN,
    Stage.NODE_NOT_READY: MissingCause.NODE_NOT_READY,
    Stage.TERMINATING: MissingCause.TERMINATING,
    Stage.CRASHED: MissingCause.CRASHED,
    Stage.RUNNING: MissingCause.NOT_ARRIVED,
    Stage.READY: MissingCause.NOT_ARRIVED,
    Stage.ENDED: MissingCause.ENDED,
}
"""From those that have come least far to those that most likely have arrived, where that is not known."""


def by_cause(plan: Plan, record: Record, view: ReadOnlyView, missing: int) -> Mapping[MissingCause, int]:
    """How many of the ``missing`` ranks there are for each cause that there is; they add up to ``missing``."""
    counts = view.of(record.epoch).absent
    here = (Stage.READY, Stage.ENDED) if plan.coordinator is None or plan.coordinator.probe.passive else ()
    found: dict[MissingCause, int] = {}
    left = missing
    for stage, cause in _CAUSE_OF.items():
        count = min(counts[stage], left) if stage not in here else 0
        if count > 0:
            found[cause] = found.get(cause, 0) + count
            left -= count
    if left:
        found |= _without_pods(plan, record, view, left)
    return found


def _without_pods(plan: Plan, record: Record, view: ReadOnlyView, absent: int) -> Mapping[MissingCause, int]:
    if view.engine.refusal is not None:
        return {MissingCause.REFUSED: absent}
    if record.phase is Phase.QUEUED:
        return {MissingCause.QUEUED: absent}
    context = Context(plan, record, view, 0.0)
    if record.phase is Phase.RESTARTING or not older_pods.clear(context):
        return {MissingCause.HELD_BACK: absent}
    held = min(absent, gates.held_back(context))
    together = context.launched and not plan.sequential
    lost = absent - held if together else min(absent - held, len(context.tally.gone))
    counts = {
        MissingCause.HELD_BACK: held,
        MissingCause.LOST: lost,
        MissingCause.NOT_CREATED: absent - held - lost,
    }
    return {cause: count for cause, count in counts.items() if count}
