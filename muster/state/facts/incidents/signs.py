"""What one stuck run shows of an incident: a sign for each of its findings that has a subject."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from muster.api.values.devices import Devices
from muster.state.facts import admission
from muster.state.facts.accelerators import held
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.diagnosis.finding import Finding
from muster.state.facts.incidents.subjects import FOLLOWS, Evidence, subject_of
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import ConditionType

MOST_MEMBERS: Final = 64
"""Members of a run that are looked at."""
MOST_SIGNS: Final = 8
"""Signs of a run that are kept."""


class Run(NamedTuple):
    """A run, by what it is called everywhere."""

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


def signs_of(context: Context) -> tuple[Sign, ...]:
    """The signs of a run; none while its condition Stuck is not true."""
    stuck = context.record.condition(ConditionType.STUCK)
    if stuck is None or not stuck.status or context.record.finished:
        return ()
    run, devices = Run(context.plan.namespace, context.plan.title), held(context.plan, context.view)
    found = []
    since = min(stuck.since, context.now)
    for finding in diagnose(context, MOST_MEMBERS)[:MOST_SIGNS]:
        cause = finding.cause.value
        if (subject := subject_of(_evidence(context, finding))) is not None:
            row, name = subject
            found.append(Sign(run, cause, row.kind, name, finding.count, since, devices, row.placed))
        elif cause in FOLLOWS:
            named = stuck.reason if stuck.reason in FOLLOWS else cause
            found.append(Sign(run, named, "", "", finding.count, since, devices))
    if not found and stuck.reason in FOLLOWS:
        found.append(Sign(run, stuck.reason, "", "", context.plan.size, since, devices))
    return tuple(found)


def _evidence(context: Context, finding: Finding) -> Evidence:
    members = context.tally.members
    pods = [pod for rank in finding.ranks[:MOST_MEMBERS] if (pod := members.get(rank)) is not None]
    quoted = " ".join(filter(None, _quotes(context, pods[0] if pods else None)))
    return Evidence(context, finding, quoted, Counter(pod.node for pod in pods if pod.node))


def _quotes(context: Context, pod: Pod | None) -> Iterator[str]:
    """What the kubelet, the scheduler, the API server and Kueue say, in their own words."""
    if pod is not None:
        yield from (pod.waiting_reason, pod.waiting_message)
    if (refusal := context.view.engine.refusal) is not None:
        yield refusal.message
    if (workload := admission.workload_of(context.plan, context.view) or context.view.admission) is not None:
        yield from (each.message for each in workload.conditions)
