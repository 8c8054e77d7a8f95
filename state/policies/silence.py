"""The silence of a coordinator that served: it is stuck when that lasts, and when it comes and goes."""

from muster.state.context import Context
from muster.state.coordinator import Coordinator
from muster.state.view.probe_result import ProbeResult


def of(context: Context, coordinator: Coordinator, probe: ProbeResult) -> tuple[tuple[str, str] | None, float | None]:
    """What is stuck about a coordinator that does not answer, or not for long, and when that may change."""
    turns_at = probe.turns_at(context.now)
    if probe.leaving or (coordinator.may_close and probe.passed and probe.answer.coordinator.refused):
        return None, turns_at
    if probe.hold and not probe.present(context.now):
        what = f"the coordinator comes and goes: it counts as serving once it has answered for {probe.hold:g} s"
        return ("CoordinatorUnreachable", what), turns_at
    if probe.silent_at is None:
        return None, turns_at
    due = probe.silent_at + coordinator.quiet
    if context.now < due:
        return None, min(due, turns_at or due)
    return unreachable(probe), turns_at


def unreachable(probe: ProbeResult) -> tuple[str, str]:
    """What is stuck about a coordinator that served, and does not any more."""
    detail = f", {probe.answer.detail}" if probe.answer.detail else ""
    what = f"the coordinator served and does not any more: {probe.answer.coordinator}{detail}"
    return "CoordinatorUnreachable", what
