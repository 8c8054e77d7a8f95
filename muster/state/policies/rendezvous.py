"""Rendezvous: has every member arrived, who is missing, and is the gang stuck.

With a coordinator that can be asked, the roll is its answer. Without one, a member has arrived when its pod is ready
(or has succeeded). Ranks that arrived stay arrived while the coordinator is silent.

Stuck means: nothing moves, and by experience nothing will. It is an alert with a reason, not a verdict: no restart on
one kind of evidence alone. The plan's coordinator states how patient Muster is (``quiet``, ``arrivals``,
``first_serve``). Reasons:

- ``RanksMissing``: some ranks arrived, others did not, the roll was quiet, and one is late (``policies.lateness``);
- ``CoordinatorNotServing``: the coordinator's program has run for ``first_serve`` without ever opening its port, or
  without a connection to it;
- ``CoordinatorUnreachable``: it served and stopped responding, though its pod runs and no rank has left in good order;
- ``DashboardNotServing``: a Ray head whose GCS serves has no dashboard, so no one can ask it;
- ``ProcessCountMismatch``: the coordinator waits for another number of processes than the gang has;
- ``RankFailed``: the coordinator gave up a rank whose pod still runs;
- ``CollectiveStuck``: ranks wait in a collective that others have not entered (``facts.collectives``);
- ``Hung``: no rank has reported a step for too long (``policies.hang``);
- the reason of an obstacle that lasts: no node, no image, no container (``policies.obstacles``);
- ``DisruptionLoop``: the platform ends epoch after epoch before the gang moves (``failures.cost.disruptions``);
- ``SameFailureAgain``: the gang fails in the same way and gets no further (``failures.recurrence``), and nothing else
  keeps it;
- the reason of a passed clock whose action is to alert, or of a refusal by the API server.

Facts about what a JAX coordinator shows in which situation: openxla/xla
xla/pjrt/distributed/coordination/coordination_service.cc, and measurements with jax 0.4.35 to 0.12.
"""

from collections.abc import Sequence
from math import inf

import msgspec
from msgspec.structs import replace

from muster.state.facts import admission, collectives, hang
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import grouping
from muster.state.facts.sentences import EXACT, all_succeeded, share, why_idle
from muster.state.policies import blocked, deadline, lateness, obstacles, silence
from muster.state.policies.failures import culprit, recurrence
from muster.state.policies.failures.cost import disruptions
from muster.state.policies.obstacles import Obstacle
from muster.state.view.places.sentence import numbers
from muster.state.view.probe_result import LOST_AFTER, ProbeResult
from muster.state.view.roll import CoordinatorState, RankError
from muster.state.vocabulary.coordinator import Completeness, Coordinator
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import ClockRule

RANKS_MISSING = Causes.NOT_ARRIVED.stuck_as
DASHBOARD_NOT_SERVING = Causes.DASHBOARD_NOT_SERVING.stuck_as
STARTS_WITHIN = 60.0
"""Seconds: the parts of Ray's dashboard have 30 to start, and it gives up when one has not."""

CUT_OFF = "; a closed port would refuse: look for a NetworkPolicy, at network and node, then at a process that hangs"
"""What is added where no answer comes in time (``CoordinatorState.TIMEOUT``). None of these is known to be the case."""


class Assembly(msgspec.Struct, frozen=True):
    """How far the gang has come together."""

    complete: bool
    coordinator_ready: bool
    arrived: int
    missing: tuple[int, ...]
    message: str
    stuck: tuple[str, str] | None
    """Reason and message."""
    look_again: float | None
    """When the answer may change by the mere passing of time, in wall seconds."""
    obstacle: Obstacle | None = None
    """What keeps a member from going on, from its first moment."""
    passed: Sequence[ClockRule] = ()
    """The clocks that have run out."""


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
        return replace(gathered, stuck=None, look_again=None)
    if gathered.stuck is None and (stuck := collectives.stuck(context) or hang.stuck(context)):
        gathered = replace(gathered, stuck=stuck)
    elif (due := hang.due(context)) is not None:
        gathered = replace(gathered, look_again=min(at for at in (gathered.look_again, due) if at is not None))
    return _until_evidence(context, _with_alerts(context, gathered, passed))


def at_rest(context: Context, passed: Sequence[ClockRule] = ()) -> Assembly:
    """The gang is not wanted now: its pods end, or are gone. Only a clock or a refusal can make it stuck."""
    gathered = Assembly(False, False, 0, (), "", None, None)
    said = admission.waiting(context) if context.record.phase is Phase.QUEUED else admission.held(context)
    if said is not None:
        gathered = replace(gathered, message=said.message, stuck=said.stuck, look_again=said.look_again)
    return _until_evidence(context, _with_alerts(context, gathered, passed))


def _by_readiness(context: Context) -> Assembly:
    tally, size = context.tally, context.plan.together
    here = min(tally.ready + tally.succeeded, size)
    done = 0 < context.plan.size <= tally.succeeded
    well = "are ready, or have ended with exit code 0" if _ended_apart(context, here) else "are ready"
    message = all_succeeded(context.plan.size) if done else f"{share(here, size)} members {well}"
    if here < size and size <= EXACT:
        over = len(tally.outlived) + tally.succeeded >= context.plan.size  # an obstacle says it of all of them
        absent = [
            rank
            for rank, pod in sorted(tally.members.items())
            if pod.live and not pod.ready and rank not in tally.done and not (over and pod.outlived_by)
        ]
        message += f"; {grouping.named(context, absent, len(absent))}" if absent else ""
    return Assembly(here >= size, here > 0, here, (), message, None, None)


def _ended_apart(context: Context, here: int) -> bool:
    """Some of these have ended, and not all together. A gang that only ends costs no write for that."""
    meets = context.plan.coordinator is not None or context.plan.engine is Engine.WATCH
    return meets and here > context.tally.ready and context.now >= obstacles.ends_count_at(context)


def _as_persisted(context: Context, coordinator: Coordinator) -> Assembly | None:
    """What the record says of a coordinator that served, while this daemon has not heard it serve.

    A daemon that has just started has no answer yet. It keeps what an earlier one wrote, instead of reporting every
    rank as missing and as arrived a moment later. Where the coordinator does not answer it either, it is silent as it
    would be for the earlier daemon: it served once in this epoch.
    """
    record, probe = context.record, context.probe
    ready, roll, assembled = record.condition(ConditionType.COORDINATOR_READY), record.roll, record.assembled_at
    was_ready = ready is not None and bool(ready.status)
    if roll is None or not (was_ready or roll.arrived or assembled):
        return None
    said, stuck, look_again = record.condition(ConditionType.ASSEMBLED), _persisted_stuck(context), None
    if probe is not None:
        absent_at, due = probe.since + LOST_AFTER, probe.since + coordinator.quiet
        was_ready = was_ready and context.now < absent_at
        if stuck is None and context.now >= due:
            stuck = silence.unreachable(probe)
        look_again = min((at for at in (absent_at, due) if at > context.now), default=None)
    return Assembly(
        complete=assembled is not None,
        coordinator_ready=was_ready,
        arrived=roll.arrived,
        missing=roll.missing,
        message=said.message if said else "",
        stuck=stuck,
        look_again=look_again,
    )


def _before_serving(context: Context, coordinator: Coordinator) -> Assembly:
    """The coordinator has not answered in this epoch yet."""
    pod = context.tally.members.get(coordinator.rank)
    since = lateness.serves_since(context, coordinator)
    stuck, look_again = None, None
    if pod is None or not pod.started:
        which = f"{pod.name}, {why_idle(pod)}" if pod else "no pod yet"
        message = f"waiting for the coordinator's process: rank {coordinator.rank} ({which})"
    else:
        state = f", port {context.probe.answer.coordinator}" if context.probe else ""
        address = context.plan.coordinator_address(context.record.epoch)
        which = f"rank {coordinator.rank}, {pod.name}, running{state}"
        message = f"waiting for the coordinator to serve at {address} ({which})"
        if since is not None and context.now >= since + coordinator.first_serve:
            message += f", for more than {coordinator.first_serve:g} s"
            cut_off = context.probe is not None and context.probe.answer.coordinator is CoordinatorState.TIMEOUT
            message += CUT_OFF if cut_off else coordinator.opening
            stuck = (Causes.COORDINATOR_NOT_SERVING.stuck_as, message)
        elif since is not None:
            look_again = since + coordinator.first_serve
    return Assembly(False, False, 0, (), message, stuck, look_again)


def _by_roll(context: Context, coordinator: Coordinator, probe: ProbeResult) -> Assembly:
    size = context.plan.expected
    total = probe.answer.expected if probe.answer.expected is not None else size
    complete = probe.passed if coordinator.complete is Completeness.PASSED else probe.arrived >= size
    missing = size - probe.arrived
    due = _quiet_at(coordinator, probe)
    quiet, stuck = context.now >= due, None
    late_at = lateness.late_at(context, coordinator, probe, due) if not complete and missing > 0 else due
    count = f"{probe.arrived}/{size}" if quiet else share(probe.arrived, size)
    present = probe.present(context.now)
    message = f"{count} ranks {_arrived(coordinator, probe, present)}"
    if not complete and missing > 0 and (quiet or size <= EXACT):
        message += "; missing " + grouping.named(context, probe.missing, missing)
    if (places := context.view.places_of(context.record.epoch)) and (other := numbers(places, total)):
        message += f"; {other}"
    lost, look_again = silence.of(context, coordinator, probe)
    if total != size:
        stuck = (
            Causes.PROCESS_COUNT.stuck_as,
            f"the coordinator waits for {total} processes, the gang has {size} members",
        )
    elif lost or not probe.serving:
        stuck = lost
    elif errors := _of_running_members(context, probe):
        rank, _, text = errors[0]
        rank = named.rank if (named := culprit.named(context)) else rank
        stuck = ("RankFailed", f"the coordinator gave up rank {rank}: {text}")
    elif not complete and missing > 0 and context.now >= late_at:
        stuck = (RANKS_MISSING, message)
    elif not complete:
        waits = [at for at in (look_again, due, late_at) if at is not None and context.now < at < inf]
        look_again = min(waits, default=look_again)
    return Assembly(complete, present, probe.arrived, probe.missing, message, stuck, look_again)


def _of_running_members(context: Context, probe: ProbeResult) -> Sequence[RankError]:
    """The members that the coordinator gave up. One that runs again alone is awaited, and not stuck."""
    if not context.plan.piecewise:
        return probe.answer.errors
    members = context.tally.members
    found = ((error, members.get(error.rank)) for error in probe.answer.errors)
    return [error for error, pod in found if pod is not None and pod.live and not pod.terminating]


def _by_partial_roll(context: Context, coordinator: Coordinator, probe: ProbeResult) -> Assembly:
    """The coordinator reports only itself: the other members have arrived when their pods are ready."""
    if probe.answer.joined is not None:
        return _by_count(context, coordinator, probe)
    others = _by_readiness(context)
    lost, look_again = silence.of(context, coordinator, probe)
    lacks, due = probe.answer.lacks, probe.since + STARTS_WITHIN
    if lacks and lost is None:
        lost = (DASHBOARD_NOT_SERVING, lacks) if context.now >= due else None
        look_again = min((at for at in (look_again, due) if at is not None and at > context.now), default=None)
    return Assembly(
        complete=others.complete and probe.arrived > 0 and not lacks,
        coordinator_ready=probe.present(context.now),
        arrived=others.arrived,
        missing=(),
        message=f"{others.message}; {probe.answer.partial}",
        stuck=lost,
        look_again=look_again,
    )


def _quiet_at(coordinator: Coordinator, probe: ProbeResult) -> float:
    """When the roll has been quiet for too long. Ranks that come slowly are not stuck at each pause."""
    patience = coordinator.quiet if coordinator.arrivals is None else coordinator.arrivals
    return probe.since + max(patience, 1.5 * probe.gap)


def _by_count(context: Context, coordinator: Coordinator, probe: ProbeResult) -> Assembly:
    """The coordinator counts the members and does not name them."""
    size, arrived = context.plan.expected, probe.arrived
    complete, present = arrived >= size, probe.present(context.now)
    message = f"{share(arrived, size)} ranks {_arrived(coordinator, probe, present)}; {probe.answer.partial}"
    if not complete and size <= EXACT and (idle := context.tally.idle):
        message += f"; {grouping.named(context, (pod.rank for pod in idle.values()), len(idle))}"
    due = lateness.late_by_count_at(context, coordinator, probe, _quiet_at(coordinator, probe))
    stuck, look_again = silence.of(context, coordinator, probe)
    if stuck is None and not complete and probe.serving:
        if context.now >= due:
            stuck = (RANKS_MISSING, message)
        else:
            look_again = min((at for at in (look_again, due) if at is not None), default=None)
    return Assembly(complete, present, arrived, (), message, stuck, look_again)


def _arrived(coordinator: Coordinator, probe: ProbeResult, present: bool) -> str:
    """The word does not change with each answer of a coordinator that comes and goes."""
    return "arrived" if present or silence.is_past_it(coordinator, probe) else "had arrived"


def _with_alerts(context: Context, gathered: Assembly, passed: Sequence[ClockRule]) -> Assembly:
    """A refusal, a passed clock or a lasting obstacle is as stuck as a missing rank, and more definite."""
    obstacle = obstacles.current(context)
    due = blocked.due(context.record, obstacle)
    if obstacle:
        soon = [at for at in (gathered.look_again, due) if at is not None and at > context.now]
        gathered = replace(gathered, look_again=min(soon, default=None))
    if obstacle and obstacle.begins <= context.now:
        gathered = replace(gathered, message=_joined(obstacle, gathered.message), obstacle=obstacle)
    refusal = context.view.engine.refusal
    alarm = (refusal.reason, refusal.message) if refusal else None
    if passed:
        gathered = replace(gathered, passed=passed)
        alarm = alarm or next(iter(deadline.alerts(context, passed)), None)
    if alarm is None and gathered.obstacle and obstacle and due is not None and due <= context.now:
        alarm = obstacle.reason, obstacle.message
    lingers_until = blocked.lingers_until(context.record)
    if alarm is None and lingers_until is not None:
        soon = [at for at in (gathered.look_again, lingers_until) if at is not None]
        gathered = replace(gathered, look_again=min(soon))
        if blocked.may_come_back(context):
            alarm = _persisted_stuck(context)
        elif gathered.stuck and gathered.stuck[0] == RANKS_MISSING:
            gathered = replace(gathered, stuck=None)
    alarm = alarm or disruptions.loop(context) or (None if gathered.stuck else recurrence.stuck(context))
    if alarm is None:
        return gathered
    rest = gathered.message.removeprefix(alarm[1]).removeprefix("; ")
    return replace(gathered, message="; ".join(filter(None, (alarm[1], rest))), stuck=alarm)


def _until_evidence(context: Context, gathered: Assembly) -> Assembly:
    """Stuck as the record has it, until this daemon has the evidence to say otherwise.

    A daemon that takes over has been refused nothing yet, and has not heard how long the roll has been quiet.
    """
    before = _persisted_stuck(context)
    if before is None or gathered.stuck or context.record.finished or context.record.phase is Phase.SUSPENDED:
        return gathered
    unmoved = before[0] == RANKS_MISSING and not gathered.complete and _roll_unmoved(context)
    unseen = hang.unseen(context) or collectives.unseen(context)
    if context.view.engine.answered and not unmoved and not unseen:
        return gathered
    return replace(gathered, stuck=before)


def _roll_unmoved(context: Context) -> bool:
    """The coordinator reports the roll that the record has."""
    probe, roll = context.probe, context.record.roll
    return probe is not None and roll is not None and (probe.arrived, probe.missing) == (roll.arrived, roll.missing)


def _persisted_stuck(context: Context) -> tuple[str, str] | None:
    stuck = context.record.condition(ConditionType.STUCK)
    if stuck is None or not stuck.status or stuck.reason == recurrence.REASON:  # that one is in the record itself
        return None
    return stuck.reason, stuck.message


def _joined(obstacle: Obstacle, roll: str) -> str:
    """The obstacle's sentence and then the roll's, unless it has nothing to add: it names the same pod, or is there."""
    added = roll and obstacle.pod not in roll and roll not in obstacle.message
    return f"{obstacle.message}; {roll}" if added else obstacle.message
