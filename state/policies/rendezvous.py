"""Rendezvous: has everybody arrived, who is missing, and is the gang stuck.

With a coordinator that can be asked, the roll is what it answers. Without one, a member has arrived when its pod is
ready (or done). A silent coordinator does not unsay who had arrived.

Stuck means: nothing moves, and by experience nothing will. It is an alert with a name, not a verdict: no restart on
one kind of evidence alone. It is raised

- ``RanksMissing``: some ranks arrived, others did not, and nobody new came for 6 s;
- ``CoordinatorNotServing``: the coordinator's program has run for a minute without ever opening its port;
- ``CoordinatorUnreachable``: it served, and for 6 s it has not, though its pod runs and nobody has left in good order;
- ``ProcessCountMismatch``: the coordinator waits for another number of processes than the gang has;
- ``RankFailed``: the coordinator gave up a rank whose pod still runs;
- the name of a passed clock whose action is to alert, or of a refusal by the API server.

Facts about what a coordinator shows in which situation: openxla/xla
xla/pjrt/distributed/coordination/coordination_service.cc, and measurements with jax 0.4.35 to 0.12.
"""

import msgspec

from muster.state.context import Case
from muster.state.messages import enumerate_missing, why_idle
from muster.state.policies.deadline import alerts
from muster.state.record import ConditionType
from muster.state.view import ProbeResult

QUIET = 6.0
"""Seconds without a change after which missing ranks or a lost coordinator are called stuck."""
FIRST_SERVE = 60.0
"""Seconds a coordinator's program may run before its port opens (imports, data, compilation caches)."""


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


def assess(case: Case) -> Assembly:
    """Judge the gathering of the gang as it is now."""
    if case.plan.coordinator is None or case.plan.coordinator.probe.passive:
        gathered = _by_readiness(case)
    elif case.probe is None and (kept := _as_persisted(case)):
        gathered = kept
    elif (probe := case.probe) is None or not probe.served:
        gathered = _before_serving(case)
    else:
        gathered = _by_roll(case, probe)
    return _with_alerts(case, gathered)


def at_rest(case: Case) -> Assembly:
    """Nobody gathers: pods end, or are gone. Only a clock or a refusal can tell that they do not."""
    return _with_alerts(case, Assembly(False, False, 0, (), "", None, None))


def _by_readiness(case: Case) -> Assembly:
    tally, size = case.tally, case.plan.together
    here = min(tally.ready + tally.succeeded, size)
    message = f"{here}/{size} members are ready"
    if here < size and (pod := next(iter(tally.idle.values()), None)):
        message += f"; rank {pod.rank} ({pod.name}, {why_idle(pod)})"
    return Assembly(here >= size, here > 0, here, (), message, None, None)


def _as_persisted(case: Case) -> Assembly | None:
    """What the record says of a coordinator that served.

    For a daemon that has just begun and has no answer yet: that it has not asked is no reason to unsay who came, and to
    tell it as news a moment later.
    """
    ready, roll = case.record.condition(ConditionType.COORDINATOR_READY), case.record.roll
    if ready is None or not ready.status or roll is None:
        return None
    told, stuck = case.record.condition(ConditionType.ASSEMBLED), case.record.condition(ConditionType.STUCK)
    return Assembly(
        complete=case.record.assembled_at is not None,
        coordinator_ready=True,
        arrived=roll.arrived,
        missing=roll.missing,
        message=told.message if told else "",
        stuck=(stuck.reason, stuck.message) if stuck and stuck.status else None,
        look_again=None,
    )


def _before_serving(case: Case) -> Assembly:
    """Nothing was heard of the coordinator in this epoch yet."""
    coordinator = case.plan.coordinator
    pod = case.tally.members.get(coordinator.rank) if coordinator else None
    since = case.record.assembling_at
    stuck, look_again = None, None
    if pod is None or not pod.started:
        why = why_idle(pod) if pod else "no pod yet"
        message = f"waiting for the coordinator's process: rank 0 ({pod.name if pod else 'no pod'}, {why})"
    else:
        state = f", port {case.probe.answer.coordinator}" if case.probe else ""
        address = case.plan.coordinator_address(case.record.epoch)
        message = f"waiting for the coordinator to serve at {address} (rank 0, {pod.name}, running{state})"
        if since is not None and case.now >= since + FIRST_SERVE:
            stuck = ("CoordinatorNotServing", f"{message}, for {case.now - since:.0f} s")
        elif since is not None:
            look_again = since + FIRST_SERVE
    return Assembly(False, False, 0, (), message, stuck, look_again)


def _by_roll(case: Case, probe: ProbeResult) -> Assembly:
    if probe.answer.rank_zero_only:
        return _by_rank_zero(case, probe)
    size = case.plan.size
    total = probe.answer.expected if probe.answer.expected is not None else size
    complete = probe.passed
    message = f"{probe.arrived}/{size} ranks arrived"
    due = probe.since + QUIET
    quiet, stuck = case.now >= due, None
    if not complete and probe.arrived < size:
        message += "; " + enumerate_missing(case, probe.missing, size - probe.arrived)
    if total != size:
        stuck = ("ProcessCountMismatch", f"the coordinator waits for {total} processes, the gang has {size} members")
    elif not probe.serving and not probe.leaving:
        stuck = _unreachable(probe) if quiet else None
    elif probe.answer.errors and probe.serving:
        rank, _, text = probe.answer.errors[0]
        stuck = ("RankFailed", f"the coordinator gave up rank {rank}: {text}")
    elif not complete and probe.arrived < size and quiet:
        stuck = ("RanksMissing", message)
    look_again = None if quiet or stuck or (complete and probe.serving) else due
    return Assembly(complete, probe.serving, probe.arrived, probe.missing, message, stuck, look_again)


def _by_rank_zero(case: Case, probe: ProbeResult) -> Assembly:
    """The oldest protocols tell of rank 0 only: the others have arrived when their pods are ready."""
    others = _by_readiness(case)
    due = probe.since + QUIET
    quiet = case.now >= due
    lost = not probe.serving and not probe.leaving
    return Assembly(
        complete=others.complete and probe.arrived > 0,
        coordinator_ready=probe.serving,
        arrived=others.arrived,
        missing=(),
        message=f"{others.message}; this version of jax tells of rank 0 only",
        stuck=_unreachable(probe) if lost and quiet else None,
        look_again=due if lost and not quiet else None,
    )


def _unreachable(probe: ProbeResult) -> tuple[str, str]:
    detail = f", {probe.answer.detail}" if probe.answer.detail else ""
    what = f"the coordinator served and does not any more: {probe.answer.coordinator}{detail}"
    return "CoordinatorUnreachable", what


def _with_alerts(case: Case, gathered: Assembly) -> Assembly:
    """A refusal or a passed clock is as stuck as a missing rank, and more definite."""
    refusal = case.view.refusal
    others = [(refusal.reason, refusal.message)] if refusal else alerts(case)
    if not others:
        return gathered
    return Assembly(
        complete=gathered.complete,
        coordinator_ready=gathered.coordinator_ready,
        arrived=gathered.arrived,
        missing=gathered.missing,
        message="; ".join(filter(None, (others[0][1], gathered.message.removeprefix(f"{others[0][1]}; ")))),
        stuck=others[0],
        look_again=gathered.look_again,
    )
