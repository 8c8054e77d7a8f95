"""Known causes: a gang that waits for a member ends when the others give up, and the cause is what they waited for.

Every framework gives up by a time-out of its own: jax aborts after 300 s without all processes, gloo after 1,800 s
without a peer. The rank that gives up first has done nothing wrong. So what blocks a gang is kept in the record
(``Record.stuck``) while it is Stuck: ranks, cause and since when. It outlives the answers of a coordinator whose
process ends because of it, and the daemon.

The known cause is kept, whatever ends the gang:

- Members that gave up, timed out or were killed from outside (``gave_up``): what was known is the cause (``cause``);
  their ends are its evidence. The row of the cause has who pays for it (``_charge``).
- A deadline, a cancellation, a refusal, which no member caused: what was known is the cause of the end, and the end is
  its evidence (``remembered``).
- Another failure of a member (an exception of the program, out of memory): it keeps its own cause, and the message of
  the experiment's end has what was known beside it (``remembered``).

If the gang was not called Stuck yet, what can be seen now counts only for ends that are time-outs by their own words.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from muster.api.causes import Stuck
from muster.api.values.rank_ranges import from_ranges, to_ranges
from muster.state.facts import hang
from muster.state.facts.causes.cause import Charge, MissingCause, serves
from muster.state.facts.causes.table import BY_NAME, Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import MOST, diagnose
from muster.state.facts.failure_cause import cause_of, was_killed
from muster.state.facts.sentences import blocked, blocking, sentence
from muster.state.policies.failures import recurrence
from muster.state.policies.failures.culprit import is_survivor
from muster.state.policies.verdicts import Fail
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause, Phase

TIMED_OUT: Final = 124
"""The exit code with which timeout(1) of GNU coreutils ends."""
PRECISION: Final = 1.0
"""Seconds in the times of a kubelet, which are whole."""
WORDS: Final = 200
"""Characters of the last words of a member that gave up, in the sentence of the cause."""
_TIME_OUT: Final = re.compile(r"(?i)time[ds]?[ -]?out|deadline.?exceeded")
_OF_COORDINATOR: Final = frozenset(
    (
        Causes.COORDINATOR_FROZEN,
        Causes.COORDINATOR_UNREACHABLE,
        Causes.COORDINATOR_NOT_SERVING,
        Causes.DASHBOARD_NOT_SERVING,
        Causes.WRONG_PROTOCOL,
    )
)


def track(context: Context, reason: str, evidence: str) -> Stuck | None:
    """Return why the gang is stuck, for the record; ``reason`` and ``evidence`` are the condition's, or empty."""
    found = _keeping(context, stuck=reason not in ("", recurrence.REASON))
    if not reason:
        return found
    if found is not None:
        return found if found.reason == reason else replace(found, reason=reason)
    before, queue = context.record.stuck, context.plan.queue if context.record.phase is Phase.QUEUED else None
    since = before.since if before is not None and before.reason == reason else context.now
    return Stuck("", evidence, "", since, reason=reason, subject=queue.name if queue is not None else "")


def _keeping(context: Context, *, stuck: bool) -> Stuck | None:
    """Return the cause that blocks the gang, until its members have arrived."""
    before = context.record.known
    if not context.record.gathering:
        return None
    if before is not None and _silenced(context) and BY_NAME.get(before.cause) not in _OF_COORDINATOR:
        return before  # its coordinator gives up, and nothing shows that the ranks have come
    if not stuck:
        return _mended(context, before)
    found = _seen(context)
    if found is None or before is None or before.cause != found.cause:
        return found or before  # a daemon that has just started has not heard what the record has
    if before.ranks and not found.ranks:
        return before  # nor has it heard which rank it was
    return before if before.until is None and before.ranks == found.ranks else replace(found, since=before.since)


def gave_up(plan: Plan, pod: Pod) -> bool:
    """Return True if the member waited for another for too long, has lost it, or was killed from outside."""
    return is_survivor(plan, pod) or _timed_out(pod) or was_killed(pod)


def cause(context: Context) -> Cause | None:
    """Return the cause of an epoch whose members gave up, if it is known what they waited for."""
    gone = [pod for pod in context.tally.failed.values() if not pod.terminating and gave_up(context.plan, pod)]
    known = context.record.known
    if known is None and any(_timed_out(pod) for pod in gone):
        known = _seen(context)
    if known is None or (charge := _charge(context, known)) is None:
        return None
    ranks = frozenset(from_ranges(known.ranks, context.plan.size))
    gone = [pod for pod in gone if pod.rank not in ranks]
    leader = context.plan.coordinator.rank if context.plan.coordinator is not None else -1
    if not gone or (context.plan.piecewise and leader not in ranks):  # such members wait for no other member
        return None
    first = min(gone, key=lambda pod: (pod.exit.finished_at if pod.exit else 0.0, pod.rank))
    at = first.exit.finished_at if first.exit is not None else 0.0
    if context.record.known is not None and 0.0 < at < known.since + PRECISION:
        return None  # it ended first, and was seen late: what is known followed from its end
    end = cause_of(context, first)
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    evidence = sentence(replace(end, message=_cut(end.message), last_line=_cut(end.last_line))) + more
    return replace(_of(context, known, charge), at=end.at, evidence=evidence)


def remembered(context: Context, end: Fail) -> Fail:
    """Return that end of the experiment with what blocked the gang until now, unless its cause names it already."""
    if end.cause is not None and end.cause.evidence:
        return end
    found = _blocked(context)
    if found is None or found.reason == end.reason:
        return end
    if end.cause is None:
        cause = replace(found, evidence=end.message)
    elif found.at - found.known_for < end.cause.at:
        cause = replace(end.cause, before=blocking(found))
    else:  # it followed from that failure
        return end
    message = "" if found.rank in end.named else blocked(cause)
    return Fail(end.reason, "; ".join(filter(None, (end.message, message))), cause)


def _blocked(context: Context) -> Cause | None:
    """Return the cause that blocks the gang at this moment: the known one, else that of the condition Stuck."""
    if not context.record.gathering:
        return None
    known = context.record.known
    if known is not None and known.until is None and (charge := _charge(context, known)) is not None:
        return _of(context, known, charge)
    condition = context.record.called_stuck
    if condition is None:
        return None
    message, since = condition.message, condition.reason_since  # it names no rank by itself
    return Cause(
        context.record.epoch, condition.reason, message, context.now, known_for=max(0, int(context.now - since))
    )


def _of(context: Context, known: Stuck, charge: Charge) -> Cause:
    """Return the known cause, without what ended the gang."""
    ranks = tuple(from_ranges(known.ranks, context.plan.size))
    rank = min(ranks, default=-1)
    pod = context.tally.members.get(rank)
    group = context.plan.group_of(rank) if rank >= 0 else None
    return Cause(
        epoch=context.record.epoch,
        reason=charge.reason,
        message=known.evidence,
        at=context.now,
        pod=pod.name if pod else "",
        uid=pod.uid if pod else "",
        group=group.name if group else "",
        rank=rank,
        node=pod.node if pod else "",
        disruption=charge.platform,
        place=context.plan.place(rank) if rank >= 0 else "",
        known_for=max(0, int((known.until or context.now) - known.since)),
        ranks=known.ranks if len(ranks) > 1 else "",
    )


def _charge(context: Context, known: Stuck) -> Charge | None:
    """Return the charge for a known cause. A coordinator that has never served was not lost."""
    cause = BY_NAME.get(known.cause)
    if cause in _OF_COORDINATOR and not serves(context):
        cause = Causes.COORDINATOR_NOT_SERVING
    return cause.charge if cause is not None else None


def _silenced(context: Context) -> bool:
    """Return True if the coordinator has served, and does not answer this daemon."""
    probe = context.probe
    if context.plan.asked is None or not serves(context):
        return False
    return probe is None or not probe.serving


def _mended(context: Context, before: Stuck | None) -> Stuck | None:
    """Return the former cause as long as its ranks have not arrived: they may come too late."""
    if before is None or context.record.assembled_at is not None or context.probe is None:
        return None
    late = frozenset(from_ranges(before.ranks, context.plan.size)) & frozenset(context.probe.missing)
    if not late:
        return None
    return before if before.until is not None else replace(before, until=context.now)


def _seen(context: Context) -> Stuck | None:
    """Return the most decisive cause with a charge, as this daemon sees it now."""
    found = next((each for each in diagnose(context, most=MOST) if each.cause.charge), None)
    if found is None:
        return None
    hangs = hang.of(context)
    together = found.cause is Causes.HUNG and (hangs is None or not hangs.ranks)
    ranks = () if together else found.ranks  # one rank represents all
    message = "; ".join(dict.fromkeys(filter(None, _evidence(context, found, ranks))))
    pod = context.tally.members.get(ranks[0]) if ranks else None
    subject = found.node or (pod.name if pod is not None else "")
    hung = hangs if found.cause in (Causes.HUNG, Causes.COLLECTIVE_BEHIND) else None
    since = hung.since if hung is not None else _since(context, found.cause)
    return Stuck(found.cause.value, message, to_ranges(ranks), since, subject=subject)


def _evidence(context: Context, found: Finding, ranks: tuple[int, ...]) -> Iterator[str]:
    yield found.what if len(ranks) == 1 else found.sentence if ranks else found.evidence
    pod = context.tally.members.get(found.ranks[0]) if found.ranks else None
    if pod is not None and not pod.started:
        yield pod.waiting_message


def _since(context: Context, cause: MissingCause) -> float:
    probe = context.probe
    if cause in _OF_COORDINATOR and probe is not None:
        return probe.silent_at or probe.since
    if cause is Causes.NOT_ARRIVED and probe is not None and probe.serving:
        return probe.since
    blocked = context.record.blocked
    return blocked.since if blocked is not None and blocked.gone_at is None else context.now


def _timed_out(pod: Pod) -> bool:
    return pod.exit is not None and (pod.exit.code == TIMED_OUT or bool(_TIME_OUT.search(pod.exit.message)))


def _cut(text: str) -> str:
    return text if len(text) <= WORDS else f"{text[: WORDS - 1]}…"
