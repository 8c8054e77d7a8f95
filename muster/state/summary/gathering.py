"""Sentences on the gathering of a gang: its roll, its obstacle, and why it is stuck.

``policies.rendezvous`` has the facts. Parts of a sentence that would repeat another are left out by these facts: an
obstacle of the member that the roll names, or a roll that is the reason of Stuck.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from muster.api.values.durations import count_of
from muster.api.values.rank_ranges import of_ranks
from muster.state.facts import admission, hang
from muster.state.facts.causes.cause import needs_no_port
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import diagnose, hangs
from muster.state.facts.failure_cause import RANK_FAILED
from muster.state.facts.obstacle import Kind, Obstacle
from muster.state.facts.sentences import EXACT, NAMED_RANGES, all_succeeded, sentence, share, why_idle
from muster.state.policies import deadline, rendezvous
from muster.state.policies.failures import culprit, recurrence
from muster.state.policies.gathering import lateness, obstacles
from muster.state.policies.gathering.lateness import Silence
from muster.state.policies.rendezvous import Assembly, Roll
from muster.state.summary import ends
from muster.state.summary import obstacles as of_obstacles
from muster.state.view.probe_result import ProbeResult
from muster.state.view.roll import CoordinatorState
from muster.state.vocabulary.group import Coordinator
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import ConditionType, Phase

CUT_OFF: Final = (
    "; a closed port would refuse: look for a NetworkPolicy, at network and node, then at a process that hangs"
)
"""The addition if no answer comes in time (``CoordinatorState.TIMEOUT``). None of these is known to be the case."""
_PORT: Final = {
    CoordinatorState.REFUSED: "its port refuses connections",
    CoordinatorState.TIMEOUT: "its port does not answer in time",
    CoordinatorState.SILENT: "its port accepts connections but sends no answer",
    CoordinatorState.TLS: "its port wants TLS",
    CoordinatorState.OTHER_PROTOCOL: "its port speaks another protocol",
    CoordinatorState.UNHEALTHY: "it reports that it does not serve",
}
"""The state of its port, if the probe has nothing more exact."""


class Gathering(NamedTuple):
    """The sentences about a gang that gathers; empty if there is nothing to report."""

    roll: str
    """The arrived ranks; if the obstacle names the same member, the obstacle."""
    obstacle: str = ""
    stuck: str = ""
    whole: str = ""


class _Part(NamedTuple):
    text: str
    ranks: frozenset[int] = frozenset()
    """The members that the part names."""


def gathering(context: Context, assembly: Assembly) -> Gathering:
    """Return the sentences of that assembly."""
    reason, obstacle, roll = assembly.stuck, assembly.obstacle, _ROLLS[assembly.roll](context, assembly)
    hindrance = of_obstacles.obstacle_sentence(context, obstacle) if obstacle is not None else ""
    own = _own_reason(context, assembly) if reason else ""
    by_obstacle = obstacle is not None and obstacle.reason == reason
    by_roll = bool(reason) and not own and not by_obstacle
    named = obstacle is not None and not by_roll and _names_the_same(assembly, obstacle, roll)
    repeated = named or (assembly.recorded and reason in rendezvous.ROLL_SAYS)
    repeated = repeated or (reason == "AssemblyDeadlineExceeded" and assembly.roll is Roll.ANSWER)  # it has the roll
    whole = ("" if by_obstacle else own, hindrance, "" if repeated else roll.text)
    stuck = own or (hindrance if by_obstacle else roll.text if by_roll else "")
    return Gathering(hindrance if named else roll.text, hindrance, stuck, joined(*whole))


def joined(*parts: str) -> str:
    """Join the parts that are not empty into one sentence; messages of refusals end in a full stop of their own."""
    shown = list(filter(None, parts))
    return "; ".join([*(each.removesuffix(".") for each in shown[:-1]), *shown[-1:]])


def _names_the_same(assembly: Assembly, obstacle: Obstacle, roll: _Part) -> bool:
    """Return True if the obstacle's sentence has what the roll has: the same member, or that all have succeeded.

    The roll that an earlier daemon has written may be that sentence.
    """
    return obstacle.rank in roll.ranks or assembly.roll is Roll.RECORD or obstacle.kind is Kind.ALL_DONE


def _own_reason(context: Context, assembly: Assembly) -> str:
    """Return why the gang is stuck, if neither the roll nor the obstacle shows it."""
    if assembly.recorded:
        stuck = context.record.condition(ConditionType.STUCK)
        return stuck.message if stuck is not None else ""
    refusal, clock = context.view.engine.refusal, deadline.alerting(context, assembly.passed)
    if refusal is not None and refusal.reason == assembly.stuck:
        return refusal.message
    if clock is not None and clock.reason == assembly.stuck:
        return deadline.sentence(context, clock)
    return _REASONS[assembly.stuck](context) if assembly.stuck in _REASONS else ""


# --- the roll


def _ready(context: Context, assembly: Assembly) -> _Part:
    tally, size, here = context.tally, context.plan.together, assembly.arrived
    if 0 < context.plan.size <= tally.succeeded:
        message = all_succeeded(context.plan.size)
    else:
        apart = _ended_apart(context, here)
        message = f"{share(here, size)} members {'are ready, or have ended with exit code 0' if apart else 'are ready'}"
    if here >= size or size > EXACT:
        return _Part(message)
    over = len(tally.outlived) + tally.succeeded >= context.plan.size  # an obstacle reports it for all of them
    absent = [
        rank
        for rank, pod in sorted(tally.members.items())
        if pod.live and not pod.ready and rank not in tally.done and not (over and pod.outlived_by)
    ]
    return _with(context, message, "; ", absent, len(absent)) if absent else _Part(message)


def _with(context: Context, message: str, joint: str, ranks: Iterable[int], total: int) -> _Part:
    """Return the message and these members, with why they are missing."""
    named = diagnose.listed(context, ranks, total)
    return _Part(f"{message}{joint}{named.sentence}", named.ranks)


def _ended_apart(context: Context, here: int) -> bool:
    """Return True if some of these have ended, and not all together. A gang that only ends costs no write for that."""
    meets = context.plan.coordinator is not None or context.plan.engine is Engine.WATCH
    return meets and here > context.tally.ready and context.now >= obstacles.ends_count_at(context)


def _recorded(context: Context, _: Assembly) -> _Part:
    found = context.record.condition(ConditionType.ASSEMBLED)
    return _Part(found.message if found is not None else "")


def _awaited(context: Context, assembly: Assembly) -> _Part:
    coordinator = context.plan.asked
    if coordinator is None:
        return _Part("")
    pod, rank = context.tally.members.get(coordinator.rank), coordinator.rank
    if pod is None or not pod.started:
        which = f"{pod.name}, {why_idle(pod)}" if pod else "no pod yet"
        return _Part(f"waiting for the coordinator's process: rank {rank} ({which})", frozenset({rank} if pod else ()))
    state = f", port {context.probe.answer.coordinator}" if context.probe else ""
    address = context.plan.coordinator_address(context.record.epoch)
    message = f"waiting for the coordinator to serve at {address} (rank {rank}, {pod.name}, running{state})"
    if assembly.stuck == rendezvous.NOT_SERVING and not assembly.recorded:
        message += f", for more than {coordinator.first_serve:g} s"
        cut_off = context.probe is not None and context.probe.answer.coordinator is CoordinatorState.TIMEOUT
        message += CUT_OFF if cut_off else coordinator.opening
    return _Part(message, frozenset({rank}))


def _answered(context: Context, assembly: Assembly) -> _Part:
    coordinator, probe, size = context.plan.asked, context.probe, context.plan.expected
    if coordinator is None or probe is None:
        return _Part("")
    missing, total = size - probe.arrived, probe.answer.expected if probe.answer.expected is not None else size
    count = f"{probe.arrived}/{size}" if assembly.quiet else share(probe.arrived, size)
    found = _Part(f"{count} ranks {_arrived(coordinator, probe, assembly.coordinator_ready)}")
    if not assembly.complete and missing > 0 and (assembly.quiet or size <= EXACT):
        found = _with(context, found.text, "; missing ", probe.missing, missing)
    if (places := context.view.places_of(context.record.epoch)) and (other := hangs.of_numbers(places, total)):
        found = _Part(f"{found.text}; {other}", found.ranks)
    return found


def _partial(context: Context, assembly: Assembly) -> _Part:
    others = _ready(context, assembly)
    return _Part(f"{others.text}; {context.probe.answer.partial}" if context.probe is not None else "", others.ranks)


def _counted(context: Context, assembly: Assembly) -> _Part:
    coordinator, probe, size = context.plan.asked, context.probe, context.plan.expected
    if coordinator is None or probe is None:
        return _Part("")
    arrived = _arrived(coordinator, probe, assembly.coordinator_ready)
    message = f"{share(assembly.arrived, size)} ranks {arrived}; {probe.answer.partial}"
    if assembly.complete or size > EXACT or not (idle := context.tally.idle):
        return _Part(message)
    return _with(context, message, "; ", (pod.rank for pod in idle.values()), len(idle))


def _arrived(coordinator: Coordinator, probe: ProbeResult, present: bool) -> str:
    """Return a word that does not change with each answer of a coordinator that comes and goes."""
    return "arrived" if present or needs_no_port(coordinator, probe) else "had arrived"


def _queued(context: Context, _: Assembly) -> _Part:
    queued = context.record.phase is Phase.QUEUED
    found = admission.waiting(context) if queued else admission.held(context)
    return _Part(found.message if found is not None else "")


_ROLLS: Final[Mapping[Roll, Callable[[Context, Assembly], _Part]]] = {
    Roll.NONE: lambda _context, _assembly: _Part(""),
    Roll.QUEUE: _queued,
    Roll.READY: _ready,
    Roll.AWAITED: _awaited,
    Roll.ANSWER: _answered,
    Roll.PARTIAL: _partial,
    Roll.COUNT: _counted,
    Roll.RECORD: _recorded,
}


# --- why it is stuck


def _processes(context: Context) -> str:
    total = context.probe.answer.expected if context.probe is not None else 0
    members = count_of(context.plan.expected, "member")
    return f"the coordinator waits for {count_of(total or 0, 'process')}, the gang has {members}"


def _given_up(context: Context) -> str:
    errors = rendezvous.given_up(context, context.probe) if context.probe is not None else ()
    if not errors:
        return ""
    first, named = errors[0], culprit.named(context)
    ranks = [named.rank] if named else sorted(each.rank for each in errors if each.code == first.code)
    return f"the coordinator gave up {of_ranks(ranks, NAMED_RANGES)}: {first.text}"


def _silent(context: Context) -> str:
    coordinator, probe = context.plan.asked, context.probe
    if coordinator is None or probe is None:
        return ""
    how = lateness.of(context, coordinator, probe)[0]
    if how is Silence.FLAPPING:
        return f"the coordinator comes and goes: it counts as serving once it has answered for {probe.hold:g} s"
    what = "restarted and has not served since" if how is Silence.RESTARTED else "stopped responding"
    answer = probe.answer
    return f"the coordinator {what}: {answer.detail or _PORT.get(answer.coordinator, 'it serves no members')}"


def _hanging(context: Context) -> str:
    found = hang.of(context)
    return hangs.sentence(context, found) if found is not None else ""


def _disruptions(context: Context) -> str:
    record = context.record
    last = f"; the last restart: {sentence(record.cause)}" if record.cause else ""
    number, least = record.consecutive_disruptions, recurrence.PROGRESS
    return f"{number} disruptions in a row without {least:g} s of work between them{last}"


_REASONS: Final[Mapping[str, Callable[[Context], str]]] = {
    Causes.PROCESS_COUNT.stuck_as: _processes,
    RANK_FAILED: _given_up,
    lateness.UNREACHABLE: _silent,
    rendezvous.DASHBOARD_NOT_SERVING: lambda context: context.probe.answer.lacks if context.probe is not None else "",
    **dict.fromkeys(hang.HANGS, _hanging),
    recurrence.DISRUPTION_LOOP: _disruptions,
    recurrence.REASON: lambda context: ends.recurring(context.record),
}
"""The sentence for each reason of Stuck."""
