"""The first half of a decision: the facts of the experiment now, and the verdict that follows from them.

``observe`` takes the experiment through named steps, and each knows what those before it have found: they move the
record forward, ask the policies for a verdict, and compute what people see. Runs of our own and runs that another
controller carries out have each their tuple of steps, in the order that counts. No step asks for a change of the world,
so this is the whole decision for a watched run, but for the end that it asks for itself.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import islice
from typing import Final

from msgspec.structs import replace

from muster.state.decide.judge import apply, judge
from muster.state.facts import admission, hang, presence
from muster.state.facts.context import Context
from muster.state.policies import barrier, completion, deadline, ending, refusal, rendezvous, request, startup
from muster.state.policies.failures import recurrence, repair
from muster.state.policies.gathering import blocked, obstacles
from muster.state.policies.rendezvous import NOT_GATHERED, Assembly
from muster.state.policies.verdicts import ReadFirst, Wait
from muster.state.policies.watched import following
from muster.state.summary import evidence, goodput, history
from muster.state.summary.status import due, summarize
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase, Record, StoryLine
from muster.state.vocabulary.rules import ClockRule
from muster.state.vocabulary.transitions import enter

MOST_RAS: Final = 8
"""Members that may be asked for NCCL's RAS, one after the other."""
_AWAITED: Final = frozenset({Phase.RESTARTING, Phase.QUEUED})
"""Phases after which an epoch begins."""


class Read(Enum):
    """The wait of a verdict on a fact that a late cache may hide: the live API must be read before it."""

    FIRST = "first"
    """The view must hold the pods as the live API has them, before anything else follows."""
    REFUSED = "refused"
    """The API server refuses the read, and that is reported: the verdict waits, and all else continues."""


class Observation(Context, frozen=True):
    """An experiment while it is observed. ``record`` holds its facts, ``status`` also what people see.

    ``before`` is the record as it is persisted.
    """

    before: Record | None
    status: Record
    assembly: Assembly = NOT_GATHERED
    clocks: Sequence[tuple[ClockRule, float]] = ()
    """The running clocks, and the wall second at which each runs out."""
    read: Read | None = None
    """None: no verdict waits for a read."""
    write: bool = False
    paid: bool = False
    """The write is charged to the experiment's budget."""
    story: tuple[StoryLine, ...] = ()
    due_at: tuple[float | None, ...] = ()
    """The wall seconds at which a step reports something else because time has passed."""
    wake_at: float | None = None
    target: ProbeTarget | None = None


Step = Callable[[Observation], Observation]


def observe(context: Context, before: Record | None, steps: tuple[Step, ...]) -> Observation:
    """Observe the experiment; ``before`` is the record as persisted.

    If the pods must be read first, nothing that a step has found counts.
    """
    record, now = context.record, context.now
    begun = Observation(
        context.plan, record, context.view, now, context.tally, context.probe, before=before, status=record
    )
    seen = begun
    for step in steps:
        seen = step(seen)
        if seen.read is Read.FIRST:
            return replace(begun, read=seen.read)
    return seen


def follow_object(seen: Observation) -> Observation:
    """Follow what the object of a watched run reports."""
    followed = following.follow(seen)
    return replace(seen.with_record(followed.record), due_at=(*seen.due_at, followed.wake_at))


def keep(track: Callable[[Context], Record]) -> Step:
    """Return the step that takes over the record of ``track``."""
    return lambda seen: seen.with_record(track(seen))


def await_ends(seen: Observation) -> Observation:
    """Start the terminating clock while pods that must go exist, and stop it when they are gone.

    It comes first, so that the clock does not run out over pods that ended unseen, and again after a verdict.
    """
    record = seen.record
    over = record.finished or record.phase is Phase.SUSPENDED
    waiting = bool(seen.lingering) or (over and bool(seen.tally.alive))
    if waiting == (record.ending_at is not None):
        return seen
    return seen.with_record(replace(record, ending_at=seen.now if waiting else None))


def await_other_ends(seen: Observation) -> Observation:
    """Set the terminating clock again once the record has moved forward."""
    after = await_ends(seen)
    return seen if after is seen else gather(after)


def gather(seen: Observation) -> Observation:
    """Assess how far the gang has gathered, if it is wanted at all, and which clocks have run out."""
    clocks = deadline.running(seen.plan, seen.record)
    passed = deadline.passed(seen, clocks)
    assembly = rendezvous.assess(seen, passed) if seen.record.gathering else rendezvous.at_rest(seen, passed)
    return replace(seen, assembly=assembly, clocks=clocks)


def advance(seen: Observation) -> Observation:
    """Move the record forward, before the verdict: a clock must not run out over progress that it does not show."""
    return _advanced(seen, _progress(seen, _begins, begins_at=lambda: seen.now))


def advance_watched(seen: Observation) -> Observation:
    """Move the record forward. Another controller begins the epochs, so their pods show the time."""
    return _advanced(seen, _progress(seen, following.begins, begins_at=lambda: following.epoch_at(seen)))


def reach_verdict(seen: Observation) -> Observation:
    """Ask the policies for a verdict, and follow it."""
    verdict = None if seen.record.finished else judge(seen, seen.assembly.passed)
    if verdict is None:
        return seen
    if isinstance(verdict, ReadFirst):
        return replace(seen, read=Read.REFUSED if refusal.reading_refused(seen) else Read.FIRST)
    if isinstance(verdict, Wait):
        return replace(seen, due_at=(*seen.due_at, verdict.until))
    after = seen.with_record(evidence.kept(seen, seen.assembly, apply(seen, verdict)))
    return gather(await_ends(after.with_record(blocked.track(after, obstacles.current(after)))))


def sum_up(seen: Observation) -> Observation:
    """Compute what people see, of a record in which all else is decided."""
    return replace(seen, status=summarize(seen, seen.assembly))


def persist(seen: Observation) -> Observation:
    """Decide whether the status is written now, and which ranks it lists as done."""
    before, status = seen.before, seen.status
    write, refresh_at, paid = due(before, status, seen.view.writes, seen.now)
    save_at = completion.save_at(seen)
    if write or (save_at is not None and save_at <= seen.now):
        status = replace(status, completed=completion.completed(seen))
        write = write or before is None or status.completed != before.completed
    status = replace(status, updated_at=seen.now) if write else (before or status)
    return replace(seen, status=status, write=write, paid=paid, due_at=(*seen.due_at, refresh_at, save_at))


def count_time(seen: Observation) -> Observation:
    """Count where the time went until now, if the status is written anyway."""
    return replace(seen, status=goodput.account(seen, seen.before, seen.status)) if seen.write else seen


def tell(seen: Observation) -> Observation:
    """Add to the story what is persisted now and was not before."""
    status = seen.status
    if not seen.write:
        return seen
    moved = seen.before is not None and hang.over(seen, seen.before)
    lines = history.new_lines(seen.plan, seen.before, status, seen.now, moved=moved)
    if not lines:
        return seen
    return replace(seen, story=lines, status=replace(status, story=history.append(status.story, lines)))


def wake(seen: Observation) -> Observation:
    """Find the next instant at which time alone changes the decision."""
    following = [
        *(end for _, end in seen.clocks),
        *seen.due_at,
        seen.record.resume_at,
        seen.assembly.look_again,
        recurrence.progress_at(seen),
        recurrence.wake_at(seen),
        refusal.retry_at(seen),
        repair.resume_at(seen),
        barrier.cut_at(seen),
        barrier.give_up_at(seen),
        ending.wake_at(seen),
    ]
    return replace(seen, wake_at=min((at for at in following if at is not None and at > seen.now), default=None))


def aim(seen: Observation) -> Observation:
    """Name the coordinator to ask, if it has a process that can be asked."""
    return replace(seen, target=_target(seen))


_OF_ALL: Final[tuple[Step, ...]] = (sum_up, persist, count_time, tell, wake, aim)
"""The steps that follow once the record is decided."""
OWN: Final[tuple[Step, ...]] = (
    keep(request.track),
    await_ends,
    gather,
    advance,
    reach_verdict,
    keep(ending.schedule),
    keep(request.track_edits),
    keep(startup.track_claims),
    *_OF_ALL,
)
"""The steps over a run whose pods Muster makes."""
WATCHED: Final[tuple[Step, ...]] = (
    follow_object,
    await_ends,
    gather,
    advance_watched,
    await_other_ends,
    *_OF_ALL,
)
"""The steps over a run whose pods another controller makes: the verdict is that of its object."""


def _advanced(seen: Observation, record: Record) -> Observation:
    return seen if record is seen.record else gather(seen.with_record(record))


def _begins(seen: Observation) -> bool:
    """Return True if an epoch of our own may begin: its back-off is over, no older pod may run, and it is admitted."""
    return seen.now >= (seen.record.resume_at or 0.0) and presence.none_older(seen) and admission.admits(seen)


def _progress(seen: Observation, begins: Callable[[Observation], bool], begins_at: Callable[[], float]) -> Record:
    """Return the record moved forward: scheduled, assembling, running, or pending again if an epoch begins."""
    record, tally, now = seen.record, seen.tally, seen.now
    if not record.gathering:
        if record.phase in _AWAITED and begins(seen):
            return enter(record, Phase.PENDING, now, epoch_at=begins_at(), resume_at=None)
        return record
    if record.epoch_at is None and presence.none_older(seen):  # it was resumed while old pods ended
        record = replace(record, epoch_at=begins_at())
    if record.scheduled_at is None and tally.scheduled >= seen.plan.together:
        record = replace(record, scheduled_at=now)
    if record.phase is Phase.PENDING and tally.started:
        record = enter(record, Phase.ASSEMBLING, now, assembling_at=now)
    if record.phase is Phase.ASSEMBLING and seen.assembly.complete:
        record = enter(record, Phase.RUNNING, now, assembled_at=now, broken_at=None)
    record = completion.note(seen.with_record(record))
    progressed = recurrence.progress_at(seen.with_record(record))
    if progressed is not None and now >= progressed:
        record = replace(record, consecutive_disruptions=0)
    record = recurrence.track(seen.with_record(record))
    return blocked.track(seen.with_record(record), seen.assembly.obstacle)


def _target(context: Context) -> ProbeTarget | None:
    coordinator = context.plan.asked
    if coordinator is None or not context.record.gathering or context.plan.lifecycle.deleting:
        return None
    pod = context.tally.members.get(coordinator.rank)
    if pod is None or not _answers(pod):
        return None
    epoch, plan = context.record.epoch, context.plan
    hands_over = plan.submitter >= 0 or plan.naming.submits_as
    return ProbeTarget(
        epoch=epoch,
        uid=pod.uid,
        address=f"{_host(pod.ip)}:{coordinator.port}",
        kind=coordinator.probe,
        expected=plan.expected,
        ports=coordinator.ports,
        job=plan.submission(epoch) if hands_over else "",
        submitter=plan.submitter,
        token=coordinator.token,
        path=coordinator.path,
        suspects=_suspects(context) if coordinator.probe is ProbeKind.RAY else (),
        ras=_ras(context),
    )


def _ras(context: Context) -> tuple[str, ...]:
    """Return the addresses of some running members to ask for NCCL's RAS: any one of them answers for all."""
    plan, members = context.plan, context.tally.members
    if not plan.ras:
        return ()
    groups = ((group, port) for group in plan.groups if (port := plan.ras.get(group.name)))
    ports = ((group.first_rank + place, port) for group, port in groups for place in range(group.size))
    found = ((members.get(rank), port) for rank, port in islice(ports, MOST_RAS))
    return tuple(f"{_host(pod.ip)}:{port}" for pod, port in found if pod is not None and _answers(pod))


def _answers(pod: Pod) -> bool:
    return pod.live and pod.started and bool(pod.ip) and not pod.terminating


def _host(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


def _suspects(context: Context) -> tuple[str, ...]:
    """Return the IPs of members that run and that the coordinator does not know, of the ranks that may be named."""
    members, probe = context.tally.members, context.probe
    missing = probe.missing if probe is not None and probe.serving else ()
    found = (members.get(rank) for rank in missing)
    return tuple(pod.ip for pod in found if pod is not None and pod.live and pod.started and not pod.terminating)
