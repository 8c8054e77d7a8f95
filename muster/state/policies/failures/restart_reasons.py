"""Restarts by reason: how often the gang, a job or a member alone was restarted, and on which nodes.

The reasons of the causes are a closed set, so that the status and the series of an experiment stay bounded: whatever
else a container or the platform names is counted as ``Other``.

A gang whose members gave up waiting is charged by the row of the cause that kept it. A restart for a cause of the
*user* (a program that never calls the coordinator, an image that does not exist) uses one unit of
``restartPolicy.backoffLimit``. One for a cause of the *platform* (no node, a queue, a node that is cut off, a process
that is frozen) is a disruption: it costs nothing of the budget (``failures.recurrence``). Causes without a charge end a
member by themselves (a crash, an eviction), or follow from another one.
"""

from collections import Counter
from typing import Final

from msgspec.structs import replace

from muster.api.gang import MAX_NODES, MAX_RESTART_REASONS, NodeFailures, RestartReason
from muster.state.facts.causes.table import CAUSES
from muster.state.facts.failure_cause import RANK_FAILED
from muster.state.facts.nodes import suspects
from muster.state.policies import queueing
from muster.state.policies.request import REASON as REQUESTED
from muster.state.vocabulary.node_faults import DRIVER_FAILED
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Record
from muster.state.vocabulary.rules import CLOCKS, ClockName

OTHER: Final = "Other"
ALTERED: Final = "PodAltered"
"""Reason of a pod that ended after its label or owner reference was changed."""

_CHARGES: Final = tuple(each.charge for each in CAUSES if each.charge)
TO_THE_PLATFORM: Final = tuple(dict.fromkeys(each.reason for each in _CHARGES if each.platform))
TO_THE_USER: Final = tuple(dict.fromkeys(each.reason for each in _CHARGES if not each.platform))

CRASHED: Final = ("Error", "OOMKilled", "ContainerFailed")
"""The most frequent reasons of a container that failed (kubernetes: pkg/kubelet)."""

DISRUPTED: Final = (
    "PreemptionByScheduler",
    "EvictionByEvictionAPI",
    "DeletionByTaintManager",
    "DeletionByPodGC",
    "TerminationByKubelet",
    "NodeLost",
    "PodDeleted",
    ALTERED,
    *TO_THE_PLATFORM,
)
"""Reasons of disruptions (kubernetes: core/v1 PodReason…, for the condition DisruptionTarget; and Muster's own)."""

BY_THE_PLATFORM: Final = (*DISRUPTED, *queueing.LOST)
"""Reasons that are no failure of the program."""

CLOCKED: Final = tuple(clock.reason for clock in CLOCKS if clock.name is not ClockName.TERMINATING)
"""Reasons of the clocks that can restart a gang. (The clock over pods that end never does.)"""

KNOWN: Final = tuple(dict.fromkeys((*TO_THE_PLATFORM, *TO_THE_USER)))
"""The causes that gangs were known to wait for when they ended."""

REASONS: Final = tuple(
    dict.fromkeys((*CRASHED, RANK_FAILED, *DISRUPTED, *CLOCKED, *KNOWN, REQUESTED, *queueing.LOST, OTHER))
)

_RARE: Final = (ALTERED, *KNOWN, *queueing.LOST, REQUESTED)
EXPORTED: Final = tuple(reason for reason in REASONS if reason not in _RARE or reason in CLOCKED)
"""Reasons that have a series in every experiment, at 0 before the first. Series of queues, people, and gangs that
gave up begin when the reason is met."""


def known(reason: str) -> str:
    """Return the reason of the closed set under which that one is counted."""
    evicted = reason.partition("DueTo")[0]
    if evicted in queueing.EVICTED_FOR:
        return evicted
    return reason if reason in REASONS else OTHER


def counted(counts: tuple[RestartReason, ...], reason: str) -> tuple[RestartReason, ...]:
    """Return the counts after one more restart for that reason, in the order in which the reasons were met."""
    found = Counter({each.reason: each.count for each in counts})
    found[known(reason)] += 1
    return tuple(RestartReason(reason, count) for reason, count in found.items())[:MAX_RESTART_REASONS]


def by_reason(record: Record) -> dict[str, int]:
    """Return the restarts of the record by each exported reason, and those that were met; empty if there were none.

    Reasons that this version does not know, and restarts from before the status counted by reason, are ``Other``.
    """
    total = record.gang_restarts
    if not total and not record.restart_reasons:
        return {}
    found = Counter(dict.fromkeys(EXPORTED, 0))
    for each in record.restart_reasons:
        found[known(each.reason)] += each.count
    found[OTHER] += max(0, total - sum(found.values()))
    return found


OF_THE_NODE: Final = frozenset(
    (
        "DeletionByTaintManager",
        "DeletionByPodGC",
        "TerminationByKubelet",
        "NodeLost",
        "NodeShutdown",
        "NodeAffinity",
        "Shutdown",
        "Terminated",
        "Evicted",
        "UnexpectedAdmissionError",
        "ContainerStatusUnknown",
        DRIVER_FAILED,
        "NodeNotReady",
        "CoordinatorLost",
    )
)
"""Disruptions that nodes bring about (kubernetes: core/v1 PodReason…, and pkg/kubelet; and Muster's own)."""


def failed_on(plan: Plan, record: Record, cause: Cause) -> Record:
    """Return the record after a restart, or the end, for that cause, with the nodes that the experiment has failed on.

    A restart, of the gang or of a part of it, and the end count if their first failure was on the node: a failure of
    the program, which a broken accelerator looks like, or what nodes do to pods. Preemption, eviction through the API
    and deletion are no fault of a node. If the spec asks for it, pods that are created later are kept off those that
    were failed on again and again, by node anti-affinity (``muster.reconcilers.render.pod``). Pods that run are left
    alone.
    """
    of_the_node = cause.reason in OF_THE_NODE or cause.reason.startswith("OutOf")
    if not cause.node or cause.exit_code == 0 or (cause.disruption and not of_the_node):
        return record
    after, of_node = plan.restarts.avoid_nodes_after, suspects.of_node(cause)
    count = 1 + next((each.failures for each in record.node_failures if each.name == cause.node), 0)
    rest = [each for each in record.node_failures if each.name != cause.node]
    found = [*rest, NodeFailures(cause.node, count, reason=cause.reason, at=cause.at, of_node=of_node)][-MAX_NODES:]
    often = [each.name for each in found if after is not None and each.failures >= after]
    left_out = often[-plan.restarts.most_avoided :]
    return replace(record, node_failures=tuple(replace(each, avoided=each.name in left_out) for each in found))


def avoided(record: Record) -> tuple[str, ...]:
    """Return the nodes that pods are kept off."""
    return tuple(each.name for each in record.node_failures if each.avoided)
