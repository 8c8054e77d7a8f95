"""The silence of a coordinator that served: it is stuck when that lasts, or is repeated.

One that had been back for a while is stuck for the reason of its present silence, however often it was lost before. Any
other counts as flapping, until it has been silent for as long as it should have answered: the sentence does not change
with each of its turns.
"""

from enum import Enum
from typing import Final

from muster.state.facts.causes.heard import needs_no_port
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.view.probe_result import LOST_AFTER, ProbeResult
from muster.state.vocabulary.coordinator import Coordinator

UNREACHABLE: Final = Causes.COORDINATOR_UNREACHABLE.stuck_as


class Silence(Enum):
    """The kinds of silence of a coordinator that served in this epoch."""

    LASTING = "lasting"
    RESTARTED = "restarted"
    """The program is a later one than that which served."""
    FLAPPING = "flapping"
    """The coordinator comes and goes."""


def of(context: Context, coordinator: Coordinator, probe: ProbeResult) -> tuple[Silence | None, float | None]:
    """Return the silence of a coordinator that does not answer, or not for long, and when that may change."""
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
