"""Lateness and silence: when a rank that has not arrived is late, and when a silent coordinator is stuck.

A roll that is quiet is no evidence while ranks are on their way. How long a start takes differs by minutes between
images, and hardly between the members of a gang: so a rank whose program runs is late once it has run for twice as long
as the coordinator's took to open its port. One whose program does not run yet is not late: what keeps it is an obstacle
with a patience of its own (``gathering.obstacles``), or the pull of a large image, and that may take ``STARTING``.
"""

from enum import Enum
from math import inf
from typing import Final

from muster.state.facts import gates
from muster.state.facts.causes.cause import needs_no_port
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.view.probe_result import LOST_AFTER, ProbeResult
from muster.state.vocabulary.group import Coordinator
from muster.state.vocabulary.pod import Pod

STARTING = 600.0
"""Seconds that a pod may need to start its program without a reason for waiting: an image of 20 GB takes minutes."""
SLOWEST = 2.0
"""Factor by which another member's imports may take longer than the coordinator's."""
QUICK = 8.0
"""Seconds that every start may take: nodes report whole seconds, and a complete roll is asked for every 3 s."""
LONGEST = 300.0
"""Most seconds of a coordinator's start that count: JAX waits no longer for its members."""


def late_at(context: Context, coordinator: Coordinator, probe: ProbeResult, quiet_at: float) -> float:
    """Return the wall second from which the missing ranks count as stuck: the first of them is late then."""
    if not probe.missing:
        return quiet_at
    first, began = inf, inf
    for rank in probe.missing:
        pod = context.tally.members.get(rank)
        if pod is None:
            group = context.plan.group_of(rank)
            if group is None or not gates.closed(context, group):  # else what the gate waits for is late, or nothing is
                first = min(first, quiet_at)
        elif pod.exit is not None or not pod.live or pod.terminating:
            first = min(first, quiet_at)
        elif pod.started:
            began = min(began, _started_at(context, pod))
        else:
            first = min(first, quiet_at + STARTING)
    if began == inf:
        return first
    return min(first, max(quiet_at, began + max(QUICK, SLOWEST * _pace(context, coordinator, probe))))


def late_by_count_at(context: Context, coordinator: Coordinator, probe: ProbeResult, quiet_at: float) -> float:
    """Return that second if the coordinator counts its members and does not name them."""
    tally = context.tally
    if tally.idle and probe.arrived >= tally.started:
        return quiet_at + STARTING
    started = tally.last_start if tally.last_start <= context.now else 0.0
    return max(quiet_at, started + max(QUICK, SLOWEST * _pace(context, coordinator, probe)))


def serves_since(context: Context, coordinator: Coordinator) -> float | None:
    """Return the wall second since which the coordinator's program had time to open its port."""
    since, pod = context.record.assembling_at, context.tally.members.get(coordinator.rank)
    if since is None or pod is None:
        return since
    return max(since, _started_at(context, pod))


def _pace(context: Context, coordinator: Coordinator, probe: ProbeResult) -> float:
    """Return the seconds from the start of the coordinator's program to its open port, as far as they were seen."""
    began = serves_since(context, coordinator)
    return 0.0 if began is None else min(max(0.0, probe.served_at - began), LONGEST)


def _started_at(context: Context, pod: Pod) -> float:
    """Return when its program started; 0 if that is unknown, or the clock of its node is ahead."""
    return pod.started_at if pod.started_at <= context.now else 0.0


UNREACHABLE: Final = Causes.COORDINATOR_UNREACHABLE.stuck_as


class Silence(Enum):
    """The kinds of silence of a coordinator that served in this epoch."""

    LASTING = "lasting"
    RESTARTED = "restarted"
    """The program is a later one than that which served."""
    FLAPPING = "flapping"
    """The coordinator comes and goes."""


def of(context: Context, coordinator: Coordinator, probe: ProbeResult) -> tuple[Silence | None, float | None]:
    """Return the silence of a coordinator that does not answer, or not for long, and when that may change.

    One that had been back for a while is stuck for the reason of its present silence, however often it was lost before.
    Any other counts as flapping, until it has been silent for as long as it should have answered: the sentence does not
    change with each of its turns.
    """
    turns_at = probe.turns_at(context.now)
    if needs_no_port(coordinator, probe):
        return None, turns_at
    due = None
    if probe.silent_at is not None:
        lasts = LOST_AFTER if probe.hold and probe.was_steady else max(coordinator.quiet, probe.hold)
        due = probe.silent_at + lasts
        if context.now >= due:
            again = _started_again(context, coordinator, probe)
            return Silence.RESTARTED if again else Silence.LASTING, turns_at
    look_again = min((at for at in (due, turns_at) if at is not None), default=None)
    if probe.hold and not probe.present(context.now):
        return Silence.FLAPPING, look_again
    return None, look_again


def known(coordinator: Coordinator, probe: ProbeResult, now: float) -> bool:
    """Return True if the arrived ranks are known now: the coordinator answers, or its port is no longer needed.

    One lost answer changes nothing. After that its last answer is of the past, unless the rendezvous needs its port
    no more, or the run is ending.
    """
    return probe.silent_at is None or now < probe.silent_at + LOST_AFTER or needs_no_port(coordinator, probe)


def known_in(context: Context) -> bool:
    """Return True if that is known in the present epoch, or no coordinator was asked."""
    coordinator, probe = context.plan.coordinator, context.probe
    return coordinator is None or probe is None or known(coordinator, probe, context.now)


def _started_again(context: Context, coordinator: Coordinator, probe: ProbeResult) -> bool:
    """Return True if the program behind the port is a later one than that which served, by a new container or pod."""
    pod = context.tally.members.get(coordinator.rank)
    return pod is not None and probe.last_served_at < pod.started_at <= context.now
