"""Clocks: deadlines that run over an experiment, each computed from persisted times and never from a timer's memory.

======================  =======================================  ==========================================
clock                   runs from                                until
======================  =======================================  ==========================================
``total``               the start (again after a suspension)     the experiment finished; restarts do not stop it
``pending``             the epoch's launch                       every member has a node
``assembly``            the first process of the epoch runs      the roll is complete
``terminating``         pods that must go are asked to           they are gone
======================  =======================================  ==========================================

A suspended or finished experiment has no running clock, except ``terminating``.

A clock ends something because something has *not* happened, and a late cache looks just like that: it may hide the last
node, or the success. So, once it has run out, it acts only on what the live API has said since.
"""

from muster.state.context import Case, Fail, ReadFirst, Restart
from muster.state.messages import enumerate_missing, of_lingering
from muster.state.plan import Clock, ClockAction, ClockName, Plan
from muster.state.policies.failure import spend
from muster.state.record import Cause, Phase, Record

REASONS = {
    ClockName.TOTAL: "DeadlineExceeded",
    ClockName.PENDING: "PendingDeadlineExceeded",
    ClockName.ASSEMBLY: "AssemblyDeadlineExceeded",
    ClockName.TERMINATING: "TerminatingDeadlineExceeded",
}


def ends(plan: Plan, record: Record) -> dict[ClockName, float]:
    """When each running clock runs out, in wall seconds."""
    starts: dict[ClockName, float | None] = {ClockName.TERMINATING: record.ending_at}
    if not record.finished and record.phase is not Phase.SUSPENDED:
        starts[ClockName.TOTAL] = record.started_at
        if record.scheduled_at is None:
            starts[ClockName.PENDING] = record.epoch_at
        if record.assembled_at is None:
            starts[ClockName.ASSEMBLY] = record.assembling_at
    return {
        name: start + plan.clocks[name].after
        for name, start in starts.items()
        if start is not None and name in plan.clocks
    }


def passed(case: Case) -> list[ClockName]:
    """The clocks that have run out, in the order of ``REASONS``."""
    over = ends(case.plan, case.record)
    return [name for name in REASONS if name in over and over[name] <= case.now]


def judge(case: Case) -> Restart | Fail | ReadFirst | None:
    """Do what the first passed clock asks. Those that end nothing are told of by the rendezvous policy."""
    name = _first(case)
    if name is None:
        return None
    if unsure(case, name):
        return ReadFirst()
    clock = case.plan.clocks[name]
    message = f"{_what(case, name)} within {clock.after:g} s"
    if clock.action is ClockAction.FAIL or name is ClockName.TOTAL:
        return Fail(REASONS[name], message)
    return spend(case, Cause(case.record.epoch, REASONS[name], message, case.now))


def unsure(case: Case, name: ClockName) -> bool:
    """Nobody has looked past the cache since that clock ran out."""
    look = case.view.look
    return look is None or look.at < ends(case.plan, case.record)[name]


def _first(case: Case) -> ClockName | None:
    """The first passed clock that ends something."""
    clocks = case.plan.clocks
    ending = (n for n in passed(case) if clocks[n].action is not ClockAction.ALERT and not _forces(n, clocks[n]))
    return next(ending, None)


def _forces(name: ClockName, clock: Clock) -> bool:
    """To restart pods that do not end means to delete them by force, which is the barrier's to do."""
    return name is ClockName.TERMINATING and clock.action is ClockAction.RESTART


def alerts(case: Case) -> list[tuple[str, str]]:
    """Reason and message of each passed clock that ends nothing."""
    return [
        (REASONS[name], f"{_what(case, name)} within {case.plan.clocks[name].after:g} s")
        for name in passed(case)
        if case.plan.clocks[name].action is ClockAction.ALERT or _forces(name, case.plan.clocks[name])
    ]


def _what(case: Case, name: ClockName) -> str:
    match name:
        case ClockName.TOTAL:
            return "the experiment did not finish"
        case ClockName.PENDING:
            return f"{case.tally.scheduled}/{case.plan.size} members got a node"
        case ClockName.ASSEMBLY:
            probe = case.probe
            if probe is None or not probe.served:
                return "the coordinator did not serve"
            missing = enumerate_missing(case, probe.missing, case.plan.size - probe.arrived)
            return f"{probe.arrived}/{case.plan.size} ranks arrived, {missing}"
        case ClockName.TERMINATING:
            return f"{of_lingering(case)} did not end"
