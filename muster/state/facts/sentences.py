"""Sentences for people about waiting pods, and about the end of an epoch.

They name the rank, the pod and the reason, in that order, because the reader types these next.
"""

import signal
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from muster.api.gang import MAX_MEMBERS
from muster.api.names import CONTAINER
from muster.api.status import ExperimentStatus
from muster.api.values.durations import age, often
from muster.api.values.rank_ranges import from_ranges, of_ranks
from muster.api.values.termination_message import SIGNALLED
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import RANK_FAILED
from muster.state.view.own import Remark
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Exit, Pod
from muster.state.vocabulary.record import Cause, attempts_of


class Words(NamedTuple):
    """Words that differ by the creator of the pods; ``{kind}`` is the kind of the object, ``{epoch}`` a number."""

    suspended: str
    restarting: tuple[str, str]
    """Reason and sentence."""
    not_created: str
    """The reason why a member has no pod, if nothing else is known."""
    beside: bool
    """True if wanted pods are created beside those no longer wanted, and the words name both."""


WORDS: Final = {
    Engine.NATIVE: Words(
        suspended="suspended by spec.suspend; set it to false to continue",
        restarting=("BackingOff", "epoch {epoch} starts after the back-off"),
        not_created="nothing known prevents its creation",
        beside=False,
    ),
    Engine.WATCH: Words(
        suspended="the {kind} is suspended",
        restarting=("AwaitingPods", "epoch {epoch} waits for pods of its controller"),
        not_created="its own controller has not created it",
        beside=True,
    ),
}


def sentence(cause: Cause) -> str:
    """Return ``rank 2 (gpu-1, run-gpu-0-1-x7k2p) ended with exit code 137 (SIGKILL), OOMKilled on node a``.

    For a member that did not fail: ``rank 1 (POD) blocked the gang (Unschedulable: no node fits); then rank 0 …``.
    """
    if cause.evidence:
        return f"{blocking(cause)}; then {cause.evidence}"
    return "; ".join(filter(None, (_failure(cause), blocked(cause))))


def _failure(cause: Cause) -> str:
    who = _who(cause)
    why = f": {cause.message}" if cause.message else ""
    if not cause.pod and cause.reason:  # no end is known, or no rank
        return f"{who}: {cause.reason}{why}" if cause.rank >= 0 else f"{cause.reason}{why}"
    container = f" in container {cause.container}" if cause.container not in ("", CONTAINER) else ""
    where = container + (f" on node {cause.node}" if cause.node else "")
    last_line = f'; last line "{cause.last_line}"' if cause.last_line else ""
    return f"{who} {_ended(cause)}{where}{why}{last_line}{of_device(cause.device)}"


def of_device(device: str) -> str:
    """Return ``; its device nvidia.com/gpu GPU-8f2a was reported as Unhealthy``; empty without one."""
    return f"; its device {device} was reported as Unhealthy" if device else ""


def _ended(cause: Cause) -> str:
    """Return how the pod ended: ``ended with exit code 137 (SIGKILL), OOMKilled``, ``ended (PodDeleted)``."""
    reason = cause.reason
    if cause.exit_code:
        label = f", {reason}" if reason not in ("Error", "ContainerFailed", "") else ""
        return f"ended with {of_exit(cause.exit_code, cause.signal)}{label}"
    if reason == RANK_FAILED:
        return f"was lost to the others ({reason})"
    return f"ended ({reason})" if reason else "ended"


def of_failure(status: ExperimentStatus) -> str:
    """Return the sentence of the last failure, and how often in a row it was the same; empty without a failure."""
    return f"{sentence(status.cause)}{repeated(status)}" if status.cause is not None else ""


def repeated(status: ExperimentStatus) -> str:
    """Return ``; the same failure 3 times``; empty if the last failure is not that of the one before."""
    row, cause = status.same_failure, status.cause
    if row is None or cause is None or row.count < 2 or cause.disruption:
        return ""
    return f"; the same failure {often(row.count)}"


def blocked(cause: Cause) -> str:
    """Return what blocked the gang before that end; empty if nothing was known."""
    if cause.evidence:
        return blocking(cause)
    return f"before that, {cause.before}" if cause.before else ""


def blocking(cause: Cause) -> str:
    """Return ``rank 1 (POD) blocked the gang for 4m (Unschedulable: no node fits)``, for a gang that has ended."""
    blocked = f"{_who(cause)} blocked the gang" if cause.rank >= 0 else "the gang was blocked"
    known = f" for {age(cause.known_for)}" if cause.known_for else ""
    return f"{blocked}{known} ({cause.reason}: {cause.message})"


def _who(cause: Cause) -> str:
    """Return ``rank 1 (gpu-1, POD)``, ``ranks 0-3 (first: gpu-0, POD)``, ``the gang``."""
    if cause.rank < 0:
        return "the gang"
    ranks = tuple(from_ranges(cause.ranks, MAX_MEMBERS))
    first = "first: " if ranks else ""
    where = f"{cause.place}, " if cause.place else ""
    return of_ranks(ranks or (cause.rank,), NAMED_RANGES) + (f" ({first}{where}{cause.pod})" if cause.pod else "")


def of_exit(code: int, number: int = 0) -> str:
    """Return ``exit code 137 (SIGKILL)``: with the reported signal, else that of the code.

    Few runtimes report the signal, and a program may return such a code by itself.
    """
    name = _signal_name(number or code - SIGNALLED) or (f"signal {number}" if number else "")
    return f"exit code {code} ({name})" if name else f"exit code {code}"


@lru_cache(maxsize=64)
def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def how_ended(end: Exit) -> str:
    """Return ``ray-worker ended with exit code 137 (SIGKILL), OOMKilled``."""
    label = f", {end.reason}" if end.reason not in ("", "Error") else ""
    return f"{end.container} ended with {of_exit(end.code, end.signal)}{label}"


def of_last_failure(status: ExperimentStatus) -> str:
    """Return the last failure and its consequence: ``epoch 0 ended because rank 2 …``, or that the epoch continued.

    It is empty without a failure.
    """
    cause = status.cause
    if cause is None:
        return ""
    text = sentence(cause)
    if cause.epoch != status.epoch or cause.final:
        because = " because" if cause.rank >= 0 else ":"
        return f"epoch {cause.epoch} ended{because} {text}{'' if cause.final else repeated(status)}"
    if cause.rank in attempts_of(status.attempts):
        return f"{text}; it runs again, and the others continue"
    return f"{text}; it is not run again" if cause.rank in from_ranges(status.ignored, MAX_MEMBERS) else text


NAMED = 3
"""Ranks that a sentence names with their pods."""
NAMED_RANGES = 100
"""Characters of the ranges of ranks in a sentence."""
EXACT = 16
"""Members of a gang up to which sentences give counts exactly."""


def share(here: int, size: int) -> str:
    """Return ``3/4``; for a large gang the half: ``256 to 511 of 512``, which stays true while the count moves on."""
    half = (size + 1) // 2
    if size <= EXACT or here >= size:
        return f"{here}/{size}"
    return f"{half} to {size - 1} of {size}" if here >= half else f"fewer than {half} of {size}"


def all_succeeded(size: int) -> str:
    """Return ``all 3 members have succeeded``."""
    return "its only member has succeeded" if size == 1 else f"all {size} members have succeeded"


def with_message(text: str, message: str) -> str:
    """Return the words, and then the reported message, if any."""
    return f"{text}: {message}" if message else text


def why_idle(pod: Pod) -> str:
    """Return why a pod's program does not run yet: ``Pending: Unschedulable, 0/8 nodes have nvidia.com/gpu``."""
    reason = pod.waiting_reason or ("ContainerCreating" if pod.scheduled else "not scheduled yet")
    detail = f", {pod.waiting_message}" if pod.waiting_message else ""
    return f"{pod.phase}: {reason}{detail}"


def of_idle(context: Context) -> str:
    """Return ``rank 2 (run-worker-0-2-x7k2p, Pending: ContainerCreating) and 3 more``."""
    idle = context.tally.idle
    pod = next(iter(idle.values()), None)
    if pod is None:
        return "no pod exists"
    more = f" and {len(idle) - 1} more" if len(idle) > 1 else ""
    return f"{waits(context, pod)}{more}"


def waits(context: Context, pod: Pod) -> str:
    """Return ``rank 2 (run-worker-0-2-x7k2p, Pending: ContainerCreating)``."""
    return f"rank {pod.rank} ({placed(context, pod.rank, pod.name)}, {why_idle(pod)})"


def of_ends(context: Context) -> str:
    """Return ``rank 1 ended with exit code 0, rank 0 (run-worker-0-0-x7k2p, Running) did not``; empty if none ended.

    A rank that ended while others run on is most often the one that these wait for.
    """
    done, size = context.tally.done, context.plan.size
    if not done or len(done) >= size:
        return ""
    ended = f"{of_ranks(sorted(done), NAMED_RANGES)} ended with exit code 0"
    rest = list(islice((rank for rank in range(size) if rank not in done), NAMED))
    named = ", ".join(_with_state(context, rank) for rank in rest)
    more = f" and {size - len(done) - len(rest)} more" if size - len(done) > len(rest) else ""
    return f"{ended}, {'rank' if len(rest) == 1 else 'ranks'} {named}{more} did not"


def _with_state(context: Context, rank: int) -> str:
    pod = context.tally.members.get(rank)
    return f"{rank} ({placed(context, rank, pod.name if pod else 'no pod')}{f', {pod.phase}' if pod else ''})"


def of_lingering(context: Context) -> str:
    """Return ``2 pods of older epochs (first: run-worker-0-1-x7k2p on node a)``."""
    pods = context.lingering
    if not pods:
        return "pods of older epochs"
    where = f" on node {pods[0].node}" if pods[0].node else ""
    if len(pods) == 1:
        return f"1 pod of an older epoch ({pods[0].name}{where})"
    return f"{len(pods)} pods of older epochs (first: {pods[0].name}{where})"


def still_running(pods: Sequence[Pod]) -> str:
    """Return ``3 pods still run (first: run-0), and what they hold is not free``; empty without any."""
    if not pods:
        return ""
    first = min(pod.name for pod in pods)
    if len(pods) == 1:
        return f"1 pod still runs ({first}), and what it holds is not free"
    return f"{len(pods)} pods still run (first: {first}), and what they hold is not free"


def placed(context: Context, rank: int, pod: str) -> str:
    """Return ``gpu-1, run-gpu-0-1-x7k2p``: the pod, after the member's place if the plan has several groups."""
    place = context.plan.place(rank)
    return f"{place}, {pod}" if place else pod


def expected_name(context: Context, member: Member | None) -> str:
    """Return the name that a member's pod will have, for messages about pods that do not exist."""
    return context.plan.pod_name(member, context.record.epoch) if member else "no such member"


def quoted(remark: Remark, now: float) -> str:
    """Return ``FailedCreate of Job llm-w-0 (job-controller, 40s ago): "exceeded quota"``."""
    about = f" of {remark.about}" if remark.about else ""
    ago = f"{age(max(0.0, now - remark.at))} ago" if remark.at else ""
    where = ", ".join(filter(None, (remark.source, ago)))
    message = f': "{remark.message}"' if remark.message else ""
    return f"{remark.reason}{about}{f' ({where})' if where else ''}{message}"
