"""Rendezvous: has every member arrived, who is missing, and is the gang stuck.

With a coordinator that can be asked, the roll is its answer. Without one, a member has arrived when its pod is ready
(or has succeeded). Ranks that arrived stay arrived while the coordinator is silent.

Stuck means: nothing moves, and by experience nothing will. It is an alert with a reason, not a verdict: no restart on
one kind of evidence alone. The plan's coordinator states how patient Muster is (``quiet``, ``arrivals``,
``first_serve``). Reasons:

- ``RanksMissing``: some ranks arrived, others did not, the roll was quiet, and one is late (``gathering.lateness``);
- ``CoordinatorNotServing``: the coordinator's program has run for ``first_serve`` without ever opening its port, or
  without a connection to it;
- ``CoordinatorUnreachable``: it served and stopped responding, though its pod runs and no rank has left in good order;
- ``DashboardNotServing``: a Ray head whose GCS serves has no dashboard, so no one can ask it;
- ``ProcessCountMismatch``: the coordinator waits for another number of processes than the gang has;
- ``RankFailed``: the coordinator gave up a rank whose pod still runs;
- ``CollectiveStuck``, ``Hung``: ranks run and make no progress (``facts.hang``);
- the reason of an obstacle that lasts: no node, no image, no container (``gathering.obstacles``);
- ``DisruptionLoop``: the platform ends epoch after epoch before the gang moves (``failures.recurrence``);
- ``SameFailureAgain``: the gang fails in the same way and gets no further (``failures.recurrence``), and nothing else
  keeps it;
- the reason of a passed clock whose action is to alert, or of a refusal by the API server.

Facts about what a JAX coordinator shows in which situation: openxla/xla
xla/pjrt/distributed/coordination/coordination_service.cc, and measurements with jax 0.4.35 to 0.12.
"""

from collections.abc import Sequence
from enum import Enum
from math import inf
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.state.facts import admission, hang
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import RANK_FAILED
from muster.state.facts.obstacle import Obstacle
from muster.state.policies import deadline
from muster.state.policies.failures import recurrence
from muster.state.policies.gathering import blocked, lateness, obstacles
from muster.state.view.probe_result import LOST_AFTER, ProbeResult
from muster.state.view.roll import RankError
from muster.state.vocabulary.group import Completeness, Coordinator
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import ClockRule

RANKS_MISSING = Causes.NOT_ARRIVED.stuck_as
DASHBOARD_NOT_SERVING = Causes.DASHBOARD_NOT_SERVING.stuck_as
STARTS_WITHIN = 60.0
"""Seconds: the parts of Ray's dashboard have 30 to start, and it gives up when one has not."""

NOT_SERVING = Causes.COORDINATOR_NOT_SERVING.stuck_as
ROLL_SAYS: Final = frozenset({RANKS_MISSING, NOT_SERVING})
"""Reasons of Stuck whose sentence is that of the roll."""


class Roll(Enum):
    """The source of the roll, which gives the sentence (``summary.gathering``)."""

    NONE = "none"
    """The gang is not wanted."""
    QUEUE = "queue"
    READY = "ready"
    """The readiness of the pods."""
    AWAITED = "awaited"
    """The coordinator has not served yet."""
    ANSWER = "answer"
    PARTIAL = "partial"
    """The coordinator's answer about itself, and the readiness of the others."""
    COUNT = "count"
    RECORD = "record"
    """The roll that an earlier daemon has heard."""


class Assembly(msgspec.Struct, frozen=True):
    """The state of the gathering of a gang."""

    complete: bool
    coordinator_ready: bool
    arrived: int
    missing: tuple[int, ...]
    roll: Roll = Roll.NONE
    stuck: str = ""
    """The reason of Stuck; empty if the gang is not stuck."""
    look_again: float | None = None
    """The wall second at which the answer may change by the mere passing of time."""
    obstacle: Obstacle | None = None
    """The obstacle that keeps a member from starting or working, from its first moment."""
    passed: Sequence[ClockRule] = ()
    recorded: bool = False
    """True if that reason is the one that an earlier daemon has written."""
    quiet: bool = False
    """True if no rank has arrived for longer than usual."""


NOT_GATHERED: Final = Assembly(False, False, 0, ())


def assess(context: Context, passed: Sequence[ClockRule] = ()) -> Assembly:
    """Judge the gathering of the gang as it is now; ``passed`` are the clocks that have run out."""
    coordinator, probe = context.plan.asked, context.probe
    if coordinator is None:
        gathered = _by_readiness(context)
    elif probe is None or not probe.served:
        gathered = _as_persisted(context, coordinator) or _before_serving(context, coordinator)
    elif not (probe.serving or probe.last_served_at):
        gathered = _before_serving(context, coordinator)  # a part of it has answered: it is still on its way
    elif probe.answer.partial:
        gathered = _by_partial_roll(context, coordinator, probe)
    else:
        gathered = _by_roll(context, coordinator, probe)
    if context.plan.lifecycle.deleting:
        return replace(gathered, stuck="", recorded=False, look_again=None)
    if not gathered.stuck and (found := hang.of(context)) is not None:
        gathered = replace(gathered, stuck=found.reason)
    elif (due := hang.due(context)) is not None:
        gathered = replace(gathered, look_again=min(at for at in (gathered.look_again, due) if at is not None))
    return _until_evidence(context, _with_alerts(context, gathered, passed))


def at_rest(context: Context, passed: Sequence[ClockRule] = ()) -> Assembly:
    """Judge a gang that is not wanted now: its pods end, or are gone. Only a clock or a refusal can make it stuck."""
    gathered = NOT_GATHERED
    queued = admission.waiting(context) if context.record.phase is Phase.QUEUED else admission.held(context)
    if queued is not None:
        gathered = replace(gathered, roll=Roll.QUEUE, stuck=queued.reason, look_again=queued.look_again)
    return _until_evidence(context, _with_alerts(context, gathered, passed))


def _by_readiness(context: Context) -> Assembly:
    tally, size = context.tally, context.plan.together
    here = min(tally.ready + tally.succeeded, size)
    return Assembly(here >= size, here > 0, here, (), Roll.READY)


def _as_persisted(context: Context, coordinator: Coordinator) -> Assembly | None:
    """Return the recorded assembly of a coordinator that served, while this daemon has not heard it serve.

    A daemon that has just started has no answer yet. It keeps what an earlier one wrote, instead of reporting every
    rank as missing and as arrived a moment later. If the coordinator does not answer it either, it is silent as it
    would be for the earlier daemon: it served once in this epoch.
    """
    record, probe = context.record, context.probe
    ready, roll, assembled = record.condition(ConditionType.COORDINATOR_READY), record.roll, record.assembled_at
    was_ready = ready is not None and bool(ready.status)
    if roll is None or not (was_ready or roll.arrived or assembled):
        return None
    stuck, look_again = _recorded_reason(context), None
    recorded = bool(stuck)
    if probe is not None:
        absent_at, due = probe.since + LOST_AFTER, probe.since + coordinator.quiet
        was_ready = was_ready and context.now < absent_at
        if not stuck and context.now >= due:
            stuck = lateness.UNREACHABLE
        look_again = min((at for at in (absent_at, due) if at > context.now), default=None)
    return Assembly(
        complete=assembled is not None,
        coordinator_ready=was_ready,
        arrived=roll.arrived,
        missing=roll.missing,
        roll=Roll.RECORD,
        stuck=stuck,
        recorded=recorded,
        look_again=look_again,
    )


def _before_serving(context: Context, coordinator: Coordinator) -> Assembly:
    pod = context.tally.members.get(coordinator.rank)
    since = lateness.serves_since(context, coordinator)
    stuck, look_again = "", None
    if pod is not None and pod.started and since is not None:
        if context.now >= since + coordinator.first_serve:
            stuck = NOT_SERVING
        else:
            look_again = since + coordinator.first_serve
    return Assembly(False, False, 0, (), Roll.AWAITED, stuck, look_again)


def _by_roll(context: Context, coordinator: Coordinator, probe: ProbeResult) -> Assembly:
    size = context.plan.expected
    total = probe.answer.expected if probe.answer.expected is not None else size
    complete = probe.passed if coordinator.complete is Completeness.PASSED else probe.arrived >= size
    missing = size - probe.arrived
    due = _quiet_at(coordinator, probe)
    quiet, stuck = context.now >= due, ""
    late_at = lateness.late_at(context, coordinator, probe, due) if not complete and missing > 0 else due
    present = probe.present(context.now)
    lost, look_again = _silence(context, coordinator, probe)
    if total != size:
        stuck = Causes.PROCESS_COUNT.stuck_as
    elif lost or not probe.serving:
        stuck = lost
    elif given_up(context, probe):
        stuck = RANK_FAILED
    elif not complete and missing > 0 and context.now >= late_at:
        stuck = RANKS_MISSING
    elif not complete:
        waits = [at for at in (look_again, due, late_at) if at is not None and context.now < at < inf]
        look_again = min(waits, default=look_again)
    return Assembly(complete, present, probe.arrived, probe.missing, Roll.ANSWER, stuck, look_again, quiet=quiet)


def given_up(context: Context, probe: ProbeResult) -> Sequence[RankError]:
    """Return the members that the coordinator gave up. One that runs again alone is awaited, and not stuck."""
    if not context.plan.piecewise:
        return probe.answer.errors
    members = context.tally.members
    found = ((error, members.get(error.rank)) for error in probe.answer.errors)
    return [error for error, pod in found if pod is not None and pod.live and not pod.terminating]


def _by_partial_roll(context: Context, coordinator: Coordinator, probe: ProbeResult) -> Assembly:
    """Return the assembly of a coordinator that reports only itself: the others arrive when their pods are ready."""
    if probe.answer.joined is not None:
        return _by_count(context, coordinator, probe)
    others = _by_readiness(context)
    lost, look_again = _silence(context, coordinator, probe)
    lacks, due = probe.answer.lacks, probe.since + STARTS_WITHIN
    if lacks and not lost:
        lost = DASHBOARD_NOT_SERVING if context.now >= due else ""
        look_again = min((at for at in (look_again, due) if at is not None and at > context.now), default=None)
    return Assembly(
        complete=others.complete and probe.arrived > 0 and not lacks,
        coordinator_ready=probe.present(context.now),
        arrived=others.arrived,
        missing=(),
        roll=Roll.PARTIAL,
        stuck=lost,
        look_again=look_again,
    )


def _quiet_at(coordinator: Coordinator, probe: ProbeResult) -> float:
    """Return when the roll has been quiet for too long. Ranks that come slowly are not stuck at each pause."""
    patience = coordinator.quiet if coordinator.arrivals is None else coordinator.arrivals
    return probe.since + max(patience, 1.5 * probe.gap)


def _by_count(context: Context, coordinator: Coordinator, probe: ProbeResult) -> Assembly:
    """Return the assembly of a coordinator that counts the members and does not name them."""
    size, arrived = context.plan.expected, probe.arrived
    complete, present = arrived >= size, probe.present(context.now)
    due = lateness.late_by_count_at(context, coordinator, probe, _quiet_at(coordinator, probe))
    stuck, look_again = _silence(context, coordinator, probe)
    if not stuck and not complete and probe.serving:
        if context.now >= due:
            stuck = RANKS_MISSING
        else:
            look_again = min((at for at in (look_again, due) if at is not None), default=None)
    return Assembly(complete, present, arrived, (), Roll.COUNT, stuck, look_again)


def _silence(context: Context, coordinator: Coordinator, probe: ProbeResult) -> tuple[str, float | None]:
    """Return the reason of Stuck of a coordinator that is silent, and when that may change."""
    state, look_again = lateness.of(context, coordinator, probe)
    return lateness.UNREACHABLE if state is not None else "", look_again


def _with_alerts(context: Context, gathered: Assembly, passed: Sequence[ClockRule]) -> Assembly:
    """Replace the reason of Stuck by a refusal, a passed clock or a lasting obstacle: these are more definite."""
    obstacle = obstacles.current(context)
    due = blocked.due(context.record, obstacle)
    if obstacle:
        soon = [at for at in (gathered.look_again, due) if at is not None and at > context.now]
        gathered = replace(gathered, look_again=min(soon, default=None))
    if obstacle and obstacle.begins <= context.now:
        gathered = replace(gathered, obstacle=obstacle)
    refusal = context.view.engine.refusal
    alarm, recorded = refusal.reason if refusal else "", False
    if passed:
        gathered = replace(gathered, passed=passed)
        if not alarm and (clock := deadline.alerting(context, passed)) is not None:
            alarm = clock.reason
    if not alarm and gathered.obstacle and obstacle and due is not None and due <= context.now:
        alarm = obstacle.reason
    lingers_until = blocked.lingers_until(context.record)
    if not alarm and lingers_until is not None:
        soon = [at for at in (gathered.look_again, lingers_until) if at is not None]
        gathered = replace(gathered, look_again=min(soon))
        if blocked.may_come_back(context):
            alarm = _recorded_reason(context)
            recorded = bool(alarm)
        elif gathered.stuck == RANKS_MISSING:
            gathered = replace(gathered, stuck="", recorded=False)
    if not alarm and recurrence.loops(context):
        alarm = recurrence.DISRUPTION_LOOP
    if not alarm and not gathered.stuck and recurrence.recurs(context):
        alarm = recurrence.REASON
    return replace(gathered, stuck=alarm, recorded=recorded) if alarm else gathered


def _until_evidence(context: Context, gathered: Assembly) -> Assembly:
    """Keep Stuck as recorded, until this daemon has the evidence to decide otherwise.

    A daemon that takes over has been refused nothing yet, and has not heard how long the roll has been quiet.
    """
    before = _recorded_reason(context)
    if not before or gathered.stuck or context.record.finished or context.record.phase is Phase.SUSPENDED:
        return gathered
    unmoved = before == RANKS_MISSING and not gathered.complete and _roll_unmoved(context)
    if context.view.engine.answered and not unmoved and not hang.awaits_evidence(context, *hang.HANGS):
        return gathered
    return replace(gathered, stuck=before, recorded=True)


def _roll_unmoved(context: Context) -> bool:
    """Return True if the coordinator reports the roll that the record has."""
    probe, roll = context.probe, context.record.roll
    return probe is not None and roll is not None and (probe.arrived, probe.missing) == (roll.arrived, roll.missing)


def _recorded_reason(context: Context) -> str:
    """Return the reason of Stuck as an earlier daemon, or this one, has written it; empty if there is none."""
    reason = context.record.stuck_reason
    return "" if reason == recurrence.REASON else reason  # that one is in the record itself
