"""Restarts by reason: how often the gang, a job or a member alone was restarted, by the reason of each cause.

The reasons are a closed set, so that the status and the series of an experiment stay bounded: whatever else a container
or the platform names is counted as ``Other``.

A gang whose members gave up waiting is charged by the row of the cause that kept it. A restart for a cause of the
*user* (a program that never calls the coordinator, an image that does not exist) uses one unit of
``restartPolicy.backoffLimit``. One for a cause of the *platform* (no node, a queue, a node that is cut off, a process
that is frozen) is a disruption: it costs nothing of the budget (``failures.disruptions``). Causes without a charge end
a member by themselves (a crash, an eviction), or follow from another one.
"""

from typing import Final

from muster.api.restart_counts import MAX_RESTART_REASONS, RestartReason
from muster.state.facts.causes.table import CAUSES
from muster.state.facts.failure_cause import RANK_FAILED
from muster.state.policies.queueing import queue
from muster.state.policies.request import REASON as REQUESTED
from muster.state.vocabulary.record import Record
from muster.state.vocabulary.rules import CLOCKS, ClockName

OTHER: Final = "Other"
ALTERED: Final = "PodAltered"
"""Reason of a pod that ended after its label or owner reference was changed."""

COORDINATOR_LOST: Final = "CoordinatorLost"
NODE_NOT_READY: Final = "NodeNotReady"

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

BY_THE_PLATFORM: Final = (*DISRUPTED, *queue.LOST)
"""Reasons that are no failure of the program."""

CLOCKED: Final = tuple(clock.reason for clock in CLOCKS if clock.name is not ClockName.TERMINATING)
"""Reasons of the clocks that can restart a gang. (The clock over pods that end never does.)"""

KNOWN: Final = tuple(dict.fromkeys((*TO_THE_PLATFORM, *TO_THE_USER)))
"""The causes that gangs were known to wait for when they ended."""

REASONS: Final = tuple(
    dict.fromkeys((*CRASHED, RANK_FAILED, *DISRUPTED, *CLOCKED, *KNOWN, REQUESTED, *queue.LOST, OTHER))
)

_RARE: Final = (ALTERED, *KNOWN, *queue.LOST, REQUESTED)
EXPORTED: Final = tuple(reason for reason in REASONS if reason not in _RARE or reason in CLOCKED)
"""Reasons that have a series in every experiment, at 0 before the first. Series of queues, people, and gangs that
gave up begin when the reason is met."""


def known(reason: str) -> str:
    """Return the reason of the closed set under which that one is counted."""
    evicted = reason.partition("DueTo")[0]
    if evicted in queue.EVICTED_FOR:
        return evicted
    return reason if reason in REASONS else OTHER


def counted(counts: tuple[RestartReason, ...], reason: str) -> tuple[RestartReason, ...]:
    """Return the counts after one more restart for that reason, in the order in which the reasons were met."""
    name = known(reason)
    found = {each.reason: each.count for each in counts}
    found[name] = found.get(name, 0) + 1
    kept = tuple(RestartReason(reason, count) for reason, count in found.items())
    return kept[:MAX_RESTART_REASONS]


def by_reason(record: Record) -> dict[str, int]:
    """Return the restarts of the record by each exported reason, and those that were met; empty if there were none.

    Reasons that this version does not know, and restarts from before the status counted by reason, are ``Other``.
    """
    total = record.gang_restarts
    if not total and not record.restart_reasons:
        return {}
    found = dict.fromkeys(EXPORTED, 0)
    for each in record.restart_reasons:
        name = known(each.reason)
        found[name] = found.get(name, 0) + each.count
    found[OTHER] += max(0, total - sum(found.values()))
    return found
