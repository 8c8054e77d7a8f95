"""The story: what happened to an experiment, one line per turn; and the records of experiments that cannot be planned.

Lines are derived from the difference of two records, so a turn that was not persisted has no line, and a line cannot
occur twice for one turn. Each line becomes a Kubernetes Event after the record that holds it is written.
"""

from collections.abc import Iterator
from itertools import chain
from math import inf
from typing import Final

from msgspec.structs import replace

from muster.api.causes import ContainerRestarts
from muster.api.gang import MAX_MEMBERS
from muster.api.status import STORY_LINES
from muster.api.values.durations import count_of, often
from muster.api.values.rank_ranges import from_ranges, of_ranks
from muster.api.values.timestamps import whole_time
from muster.state.facts.causes.table import Causes
from muster.state.facts.hang import HANGS
from muster.state.facts.sentences import NAMED_RANGES, blocked, of_failure, sentence
from muster.state.summary import ends
from muster.state.summary.conditions import NO_COORDINATOR
from muster.state.view.roll import STALE_MEMBERS
from muster.state.vocabulary.plan import Engine, Plan
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase, Record, StoryLine, attempts_of

REASON = Causes.RESTARTED_IN_PLACE.stuck_as
NAMED_BY = (REASON, STALE_MEMBERS)
"""Reasons of a status whose sentence names the restart."""


def container_restarts(restarts: ContainerRestarts | None, epoch: int) -> str:
    """Return the sentence on containers that the kubelet has started again in that epoch; empty without any.

    ``rank 1 (run-1) ended with exit code 137 (SIGKILL), OOMKilled in container train on node n1; started again in its
    pod 8 times (last end at 2026-11-28T10:00:00Z)``.
    """
    if restarts is None or restarts.cause is None or restarts.cause.epoch != epoch:
        return ""
    cause = restarts.cause
    at = f" (last end at {whole_time(cause.at)})" if cause.at else ""
    others = f"; after it {count_of(restarts.others, 'restart')} of other members" if restarts.others else ""
    return f"{sentence(cause)}; started again in its pod {often(restarts.times)}{at}{others}"


def in_place_turns(before: Record | None, after: Record) -> Iterator[tuple[str, str, bool]]:
    """Yield the line of the story about containers that were started again in their pods since ``before``."""
    if before is None or after.in_place is None:
        return
    if after.in_place.count > (before.in_place.count if before.in_place is not None else 0):
        message = container_restarts(after.in_place, after.epoch)
        if message:
            yield REASON, message, True


STUCK: Final = "Stuck"
DELETING: Final = "Deleting"
"""The reason of a run whose object is being deleted."""
KEPT_FIRST = 8
"""Lines of the beginning that are never dropped: the start of a run explains its end."""


Turn = tuple[str, str, bool]
"""Reason, sentence, and whether it needs attention."""


def new_lines(
    plan: Plan, before: Record | None, after: Record, now: float, *, moved: bool = False
) -> tuple[StoryLine, ...]:
    """Return the lines that lead from one record to the next. ``moved``: the programs have made progress since."""
    own = turns_of_watched(before, after) if plan.engine is Engine.WATCH else turns(plan, before, after)
    found = chain(own, _of_any_run(before, after, moved=moved))
    return tuple(
        StoryLine(now, after.epoch, reason, message, warning, _about(reason, after))
        for reason, message, warning in found
    )


def _about(reason: str, after: Record) -> str:
    """Return the reason of Stuck, for programs: the sentence has it for people."""
    stuck = after.condition(ConditionType.STUCK) if reason == STUCK else None
    return stuck.reason if stuck is not None else ""


def append(story: tuple[StoryLine, ...], lines: tuple[StoryLine, ...]) -> tuple[StoryLine, ...]:
    """Return the bounded story with the new lines at its end."""
    lengthened = story + lines
    if len(lengthened) <= STORY_LINES:
        return lengthened
    return lengthened[:KEPT_FIRST] + lengthened[KEPT_FIRST - STORY_LINES :]


def turns(plan: Plan, before: Record | None, after: Record) -> Iterator[Turn]:
    """Yield what happened to a run of our own."""
    if before is None:
        if after.phase is Phase.SUSPENDED:
            yield "Suspended", "created suspended", False
        elif after.phase is Phase.QUEUED:
            yield "Queued", f"waiting for a queue to admit {count_of(after.size, 'member')}", False
        else:
            yield "Started", f"starting {count_of(after.size, 'member')}", False
    elif before.epoch != after.epoch and after.cause is not None and after.phase is Phase.RESTARTING:
        kind = _kind(before, after, ends.share(plan, after), disruption=after.cause.disruption)
        yield "GangRestart", f"epoch {before.epoch} ended ({kind}): {of_failure(after)}", True
    elif before.epoch != after.epoch and after.cause is not None and after.phase is Phase.QUEUED:
        yield "Evicted", f"epoch {before.epoch} ended (disruption, not counted): {sentence(after.cause)}", True
    elif before.phase is not after.phase and not after.finished:
        yield from _phase(before, after)
    if before is not None and before.epoch == after.epoch and not after.finished:
        yield from _repairs(before, after)
    if after.pending_edits and (before is None or before.pending_edits != after.pending_edits):
        yield "EditRefused" if after.edit_refused else "EditPending", of_edits(after), True
    if after.volume_lost_at is not None and (before is None or before.volume_lost_at != after.volume_lost_at):
        yield "SharedVolumeLost", of_volume(after), True
    if before is not None and before.node_failures != after.node_failures:
        yield from _of_nodes(before, after)


def _kind(before: Record, after: Record, share: str, *, disruption: bool) -> str:
    """Return the kind of a gang restart, and whether it was charged to the budget: failure rules may change that."""
    counted = f"restart {share}" if after.restarts > before.restarts else "not counted"
    return f"disruption, {counted}" if disruption else counted


def turns_of_watched(before: Record | None, after: Record) -> Iterator[Turn]:
    """Yield what the controller of a watched run did."""
    if before is None:
        suspended = ", which is suspended" if after.phase is Phase.SUSPENDED else ""
        yield "Watching", f"watching over {count_of(after.size, 'member')}{suspended}", False
    elif before.finished and not after.finished:
        yield "Watching", f"watching over {count_of(after.size, 'member')} of another run", False
    elif before.epoch != after.epoch and before.phase is not Phase.SUSPENDED:
        why = f": {of_failure(after)}" if after.cause else ""
        number = f", restart {after.restarts}" if after.restarts > 1 else ""
        yield "RestartedByController", f"its controller ended epoch {before.epoch}{number}{why}", True
    elif before.phase is not after.phase and after.phase is Phase.SUSPENDED:
        yield "Suspended", "; ".join(filter(None, ("it was suspended", of_suspension(after)))), False
    elif before.phase is not after.phase and not after.finished:
        yield from _phase(before, after)
    cause, known = after.cause, before.cause if before is not None else None
    failed = cause is not None and cause.epoch == after.epoch and not cause.evidence
    if cause is not None and failed and (known is None or _other(known, cause)):
        yield ("MemberFailed", of_failure(after), True) if cause.pod else (cause.reason, cause.message, True)
    if before is not None and after.reason == STALE_MEMBERS != before.reason:
        yield STALE_MEMBERS, after.message, True


def of_suspension(record: Record) -> str:
    """Return what blocked a watched run until its suspension; empty if nothing was known."""
    cause = record.cause
    return blocked(cause) if cause is not None and cause.epoch == record.epoch else ""


def _of_any_run(before: Record | None, after: Record, *, moved: bool) -> Iterator[Turn]:
    yield from in_place_turns(before, after)
    yield from ends.turns(before, after)
    if after.finished and (before is None or not before.finished):
        yield after.reason, after.message, after.phase is Phase.FAILED
    elif not after.finished:
        yield from _flips(before, after, moved=moved)


def _other(known: Cause, cause: Cause) -> bool:
    return (known.uid, known.epoch, known.reason) != (cause.uid, cause.epoch, cause.reason)


def _phase(before: Record, after: Record) -> Iterator[Turn]:
    if after.phase is Phase.SUSPENDED:
        yield "Suspended", "deleting the pods of the gang", False
    elif after.phase is Phase.QUEUED and before.phase is Phase.RESTARTING:
        yield "Queued", f"the queue took the quota back; epoch {after.epoch} waits for it", True
    elif before.phase is Phase.QUEUED:
        yield "Admitted", f"the queue has admitted it; epoch {after.epoch} begins", False
    elif before.phase is Phase.SUSPENDED:
        yield "Resumed", f"epoch {after.epoch} begins", False
    elif before.phase is Phase.RESTARTING:
        yield "Restarted", f"epoch {after.epoch} begins", False
    elif after.phase is Phase.ASSEMBLING:
        yield "Assembling", "the first process runs", False
    elif after.phase is Phase.RUNNING:
        yield "Running", after.message, False


def _repairs(before: Record, after: Record) -> Iterator[Turn]:
    """Yield members that run again, or are given up, while the epoch continues."""
    if after.cause is None or (before.attempts, before.ignored) == (after.attempts, after.ignored):
        return
    old, new = attempts_of(before.attempts), attempts_of(after.attempts)
    again = sorted(rank for rank, attempt in new.items() if attempt != old.get(rank, 0))
    if again:
        kind = "JobRestart" if _job_restarts(before) != _job_restarts(after) else "MemberRestart"
        who = f"{of_ranks(again, NAMED_RANGES)} {'runs' if len(again) == 1 else 'run'}"
        yield kind, f"{who} again (attempt {new[again[0]]}): {sentence(after.cause)}", True
    given_up = set(from_ranges(after.ignored, MAX_MEMBERS)) - set(from_ranges(before.ignored, MAX_MEMBERS))
    if given_up:
        who = f"{of_ranks(sorted(given_up), NAMED_RANGES)} {'is' if len(given_up) == 1 else 'are'}"
        yield "MemberIgnored", f"{who} not run again: {sentence(after.cause)}", True


NODE_FAULT: Final = "NodeFault"
"""Reason of an Event: Kubernetes, or the container runtime, reports a failure of the node itself. It never changes."""
FAILED_ON_NODE_AGAIN: Final = "FailedOnNodeAgain"
"""Reason of an Event: failures of the run were on one node more than once. It never changes."""


def _of_nodes(before: Record, after: Record) -> Iterator[Turn]:
    known = {each.name: each for each in before.node_failures}
    for each in after.node_failures:
        old = known.get(each.name)
        if old is None or each.failures > old.failures:
            if each.of_node:
                yield NODE_FAULT, f"a fault of node {each.name} was reported: {each.reason}", True
            elif each.failures > 1:
                sentence = f"{each.failures} failures of this run were on node {each.name} (last: {each.reason})"
                yield FAILED_ON_NODE_AGAIN, f"{sentence}; the program may be the cause, too", True
        if each.avoided and (old is None or not old.avoided):
            often = f"{each.failures} restarts began" if each.failures > 1 else "a restart began"
            yield "NodeAvoided", f"new pods avoid node {each.name}: {often} with a failure on it", True


def _job_restarts(record: Record) -> int:
    return sum(each.restarts * sum(1 for _ in from_ranges(each.jobs, MAX_MEMBERS)) for each in record.job_restarts)


def _flips(before: Record | None, after: Record, *, moved: bool) -> Iterator[Turn]:
    for kind in (ConditionType.SCHEDULED, ConditionType.COORDINATOR_READY, ConditionType.STUCK):
        old = before.condition(kind) if before else None
        new = after.condition(kind)
        if new is None or (old and (old.status, old.reason) == (new.status, new.reason)):
            continue
        if kind is ConditionType.STUCK:
            if new.status:
                yield STUCK, f"{new.reason}: {new.message}", True
            elif before and old and old.status:
                yield "NotStuck", new.message or _over(old.reason, before, after, moved=moved), False
        elif new.status and not (old and old.status) and new.reason != NO_COORDINATOR:
            yield kind.value, new.message, False


def _over(reason: str, before: Record, after: Record, *, moved: bool) -> str:
    """Return ``progress resumed (was: Hung)``, ``resolved: ImagePullBackOff``, or what else ended it."""
    if after.reason == DELETING:
        return f"it is being deleted (was: {reason})"
    if before.gathering and not (after.gathering and before.epoch == after.epoch):
        return f"epoch {before.epoch} has ended (was: {reason})"
    if reason not in HANGS:
        return f"resolved: {reason}"
    if moved:
        return f"progress resumed (was: {reason})"
    ended = sorted(set(from_ranges(after.completed, MAX_MEMBERS)) - set(from_ranges(before.completed, MAX_MEMBERS)))
    return f"{of_ranks(ended, NAMED_RANGES)} ended with exit code 0 (was: {reason})" if ended else f"no longer {reason}"


def of_edits(record: Record, remark: str = "") -> str:
    """Return the sentence on edits that the pods do not follow; empty without one. ``remark``: what the kind adds."""
    if not record.pending_edits:
        return ""
    if record.edit_refused:
        return f"the last edit is not applied, and the run continues without it: {record.pending_edits}"
    sentence = f"the edit of {record.pending_edits} applies to pods that are created from now on, not to those that run"
    if not record.groups:
        return sentence
    more = "the number of pods changes only while it is suspended"
    return "; ".join(filter(None, (sentence, more, remark)))


def of_volume(record: Record) -> str:
    """Return the sentence on a volume that was lost; empty if none was."""
    if record.volume_lost_at is None:
        return ""
    return "the shared volume was deleted, not by Muster, and is created again: its data is lost"


INVALID = "InvalidSpec"
UNREADABLE = "StatusUnreadable"
"""Reason that is shown for an experiment whose status cannot be read."""


def refuse(generation: int, problem: str, now: float) -> Record:
    """Return the first and last record of an experiment that cannot be planned: it is Failed at once."""
    line = StoryLine(now, 0, INVALID, problem, warning=True)
    over = (ConditionType.FAILED, ConditionType.FINISHED)
    return Record(
        generation=generation,
        phase=Phase.FAILED,
        phase_at=now,
        reason=INVALID,
        message=problem,
        finished_at=now,
        updated_at=now,
        conditions=tuple(Condition(kind, True, INVALID, problem, generation, now) for kind in over),
        story=(line,),
    )


def halt(record: Record, generation: int, problem: str, now: float) -> Record | None:
    """Return the record of a run that can no longer be planned; None if it has that already, or has ended.

    Its spec was edited while no daemon ran. It is Stuck and not Failed: its pods still run.
    """
    known = record.condition(ConditionType.STUCK)
    if record.finished or (known and known.status and (known.reason, known.generation) == (INVALID, generation)):
        return None
    message = f"{problem}; Muster leaves the pods as they are until the spec can be run"
    stuck = Condition(ConditionType.STUCK, True, INVALID, message, generation, now)
    others = tuple(each for each in record.conditions if each.type != ConditionType.STUCK)
    line = StoryLine(now, record.epoch, INVALID, message, warning=True)
    return replace(
        record,
        reason=INVALID,
        message=message,
        updated_at=now,
        conditions=(*others, stuck),
        story=append(record.story, (line,)),
    )


def unreadable(problem: str) -> Record:
    """Return what is shown if a status cannot be read; it is never written. Since when is not known.

    Such an experiment is left as it is, so it has no record; people are shown that it is stuck.
    """
    message = f"{problem}; Muster does nothing with it until its status can be read"
    stuck = Condition(ConditionType.STUCK, True, UNREADABLE, message, 0, -inf)
    return Record(phase=Phase.PENDING, phase_at=-inf, reason=UNREADABLE, message=message, conditions=(stuck,))
