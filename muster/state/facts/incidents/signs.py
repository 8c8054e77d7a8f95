"""The signs that one run shows of an incident: of the fault that keeps it, and of the end of its last epoch.

A run that is Stuck shows a sign for each of its findings that has a subject. One that fails and is started again is
seldom Stuck: it shows the cause of its last end for ``RECENT`` seconds, until its gang runs again, and on a node where
it has failed more than once also after that.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from muster.api.values.accelerators import Devices
from muster.state.facts import admission
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context, held
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.incidents.readings import Evidence
from muster.state.facts.incidents.subjects import FOLLOWS, subjects_of
from muster.state.view.view import View
from muster.state.vocabulary.node_faults import DRIVER_FAILED, driver_fault, pressure
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause, Phase, Record

MOST_MEMBERS: Final = 64
"""Members of a run that are read."""
MOST_SIGNS: Final = 8
"""Findings of a run whose signs are kept."""
RECENT: Final = 600.0
"""Seconds for which the end of an epoch is shown. A kubelet waits for up to 300 before it starts a container again."""
AHEAD: Final = 60.0
"""Seconds by which the clock of a node may be ahead."""
AGAIN: Final = 2
"""The number of failures on one node from which they are shown while the gang runs."""
_RUNS: Final = frozenset({Phase.RUNNING, Phase.SUCCEEDED, Phase.SUSPENDED})
_OWN: Final = frozenset({Causes.OOM_KILLED.value, "Evicted", "PodDeleted", "PodAltered"})
"""Reasons of ends that are no node's (``nodes.suspects``)."""


class Run(NamedTuple):
    """A run, by its namespace and its name for people."""

    namespace: str
    name: str


class Sign(NamedTuple):
    """One cause of one run, with its subject. ``node``: the subject is a node. ``since`` is in wall seconds.

    Without a kind it has no subject of its own, and follows the loss of a node (``FOLLOWS``).
    """

    run: Run
    cause: str
    kind: str
    subject: str
    ranks: int
    since: float
    devices: Devices = ()
    node: bool = False
    weak: bool = False
    """True if the program may be the reason as well (``belief``)."""
    where: str = ""
    """The node of these members, if the subject is no node."""
    image: str = ""
    """The image that a registry refuses."""
    ended: bool = False
    """True if it is the cause of an end: the run is not kept."""


def signs_of(context: Context) -> tuple[Sign, ...]:
    """Return the signs of a run."""
    found = tuple(_of_findings(context))
    return found if any(sign.node or sign.kind for sign in found) else (*found, *_of_ends(context))


def bursts(signs: Iterable[Sign], within: float) -> Iterator[list[Sign]]:
    """Yield the signs in the order of their times, each list with those that follow each other within the seconds."""
    some: list[Sign] = []
    for sign in sorted(signs, key=lambda each: each.since):
        if some and sign.since - some[-1].since > within:
            yield some
            some = []
        some.append(sign)
    yield some


def shows(record: Record, view: View, now: float) -> bool:
    """Return True if the run may show signs. It is called for every run at each look."""
    if not record.finished and (view.remark is not None or is_stuck(record)):
        return True
    again = record.in_place.cause if record.in_place is not None else None
    return any(cause is not None and _is_recent(cause, now) for cause in (record.cause, again))


def is_stuck(record: Record) -> bool:
    """Return True if the condition Stuck of a run in progress is true."""
    return not record.finished and record.called_stuck is not None


def _is_recent(cause: Cause, now: float) -> bool:
    return bool(cause.node) and -AHEAD <= now - cause.at < RECENT


def _of_findings(context: Context) -> Iterator[Sign]:
    """Yield signs of present faults. Before the run is Stuck, a kubelet's report on volumes or network is enough."""
    record, stuck = context.record, context.record.called_stuck
    if record.finished or (stuck is None and context.view.remark is None):
        return
    since = min(stuck.since if stuck is not None else record.scheduled_at or context.now, context.now)
    run, devices = Run(context.plan.namespace, context.plan.title), held(context.plan, context.view)
    none = True
    for finding in diagnose(context, MOST_MEMBERS)[:MOST_SIGNS]:
        if stuck is None and finding.cause not in (Causes.NETWORK_FAILS, Causes.VOLUME_FAILS):
            continue
        cause = finding.cause.value
        sick = any(pod.unhealthy for pod in _pods(context, finding))
        seen = _evidence(context, finding)
        found = tuple(_named(run, finding.cause, seen, finding.count, since, devices, sick=sick))
        yield from found
        none = none and not found
        if not found and cause in FOLLOWS:
            named = stuck.reason if stuck is not None and stuck.reason in FOLLOWS else cause
            none = False
            yield Sign(run, named, "", "", finding.count, since, devices)
    if none and stuck is not None and stuck.reason in FOLLOWS:
        yield Sign(run, stuck.reason, "", "", context.plan.size, since, devices)


def _of_ends(context: Context) -> Iterator[Sign]:
    """Yield signs of the cause for which its last epoch, or a container in its pod, has ended."""
    record, plan = context.record, context.plan
    run, devices = Run(plan.namespace, plan.title), held(plan, context.view)
    ends = [(record.cause, _times(record))]
    if record.in_place is not None:
        ends.append((record.in_place.cause, record.in_place.times))
    for cause, times in ends:
        if cause is None or not _is_recent(cause, context.now):
            continue
        what = _of_end(cause)
        if what is None or (times < AGAIN and record.phase in _RUNS):
            continue
        seen = Evidence(context, None, cause.message, {cause.node: 1})
        found = tuple(_named(run, what, seen, 1, min(cause.at, context.now), devices, sick=bool(cause.device)))
        if found:
            yield from (sign._replace(ended=True) for sign in found)
            return


def _times(record: Record) -> int:
    """Return how often the run has failed on the node of its last failure."""
    node = record.cause.node if record.cause is not None else ""
    return next((each.failures for each in record.node_failures if each.name == node), 0)


def _of_end(cause: Cause) -> MissingCause | None:
    """Return the cause, from the table of causes, that an end may show."""
    if cause.reason == DRIVER_FAILED or driver_fault(cause.message):
        return Causes.DRIVER_FAILED
    if cause.disruption:
        return Causes.NODE_PRESSURE if pressure(cause.message) else None
    return None if cause.reason in _OWN or cause.exit_code in (0, None) else Causes.CRASHED


def _named(
    run: Run, cause: MissingCause, seen: Evidence, ranks: int, since: float, devices: Devices, *, sick: bool
) -> Iterator[Sign]:
    """Yield a sign for each subject. ``sick``: a device is reported as Unhealthy, so programs are not the reason."""
    for row, name in subjects_of(cause, seen):
        where = "" if row.placed or len(seen.nodes) != 1 else next(iter(seen.nodes))
        sign = Sign(run, cause.value, row.kind, name, ranks, since, devices, row.placed, row.weak and not sick, where)
        yield sign._replace(image=seen.pulled) if row.beside and cause is Causes.IMAGE_PULL else sign


def _pods(context: Context, finding: Finding) -> list[Pod]:
    members, known = context.tally.members, context.record.known
    ranks: Iterable[int] = finding.ranks[:MOST_MEMBERS]
    if finding.cause is Causes.HUNG and not (known is not None and known.ranks):
        ranks = range(min(context.plan.size, MOST_MEMBERS))  # one rank represents all, and its node none
    return [pod for rank in ranks if (pod := members.get(rank)) is not None]


def _evidence(context: Context, finding: Finding) -> Evidence:
    pods = _pods(context, finding)
    quotes = " ".join(filter(None, _quotes(context, pods[0] if pods else None)))
    return Evidence(context, finding, quotes, Counter(pod.node for pod in pods if pod.node))


def _quotes(context: Context, pod: Pod | None) -> Iterator[str]:
    """Yield the messages of the kubelet, the scheduler, the API server and Kueue, in their own words."""
    if pod is not None:
        yield from (pod.waiting_reason, pod.waiting_message)
        if pod.exit is not None:
            yield pod.exit.message
    if (remark := context.view.remark) is not None:
        yield from (remark.reason, remark.message)
    if (refusal := context.view.engine.refusal) is not None:
        yield refusal.message
    if (workload := admission.workload_of(context.plan, context.view) or context.view.admission) is not None:
        yield from (each.message for each in workload.conditions)
