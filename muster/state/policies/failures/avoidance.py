"""Nodes that the experiment has failed on, and those of them that its next pods leave out.

Counted are the restarts, of the gang or of a part of it, and the end, whose first failure was on the node: failures of
the program, which a broken accelerator looks like, and what nodes do to pods. Preemption, eviction through the API and
deletion are no fault of a node. The record names the nodes. If the spec asks for it, pods that are created later are
kept off those that were failed on again and again, by node anti-affinity (``muster.reconcilers.render.placement``).
Pods that run are left alone.
"""

from typing import Final

from msgspec.structs import replace

from muster.api.restart_counts import MAX_NODES
from muster.state.facts.nodes import evidence
from muster.state.policies.failures.restart_reasons import COORDINATOR_LOST, NODE_NOT_READY
from muster.state.vocabulary.node_faults import DRIVER_FAILED
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, NodeFailures, Record

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
        NODE_NOT_READY,
        COORDINATOR_LOST,
    )
)
"""Disruptions that nodes bring about (kubernetes: core/v1 PodReason…, and pkg/kubelet; and Muster's own)."""


def failed_on(plan: Plan, record: Record, cause: Cause) -> Record:
    """Return the record after a restart, or the end, for that cause."""
    of_the_node = cause.reason in OF_THE_NODE or cause.reason.startswith("OutOf")
    if not cause.node or cause.exit_code == 0 or (cause.disruption and not of_the_node):
        return record
    after, of_node = plan.restarts.avoid_nodes_after, evidence.of_node(cause)
    count = 1 + next((each.failures for each in record.node_failures if each.name == cause.node), 0)
    rest = [each for each in record.node_failures if each.name != cause.node]
    found = [*rest, NodeFailures(cause.node, count, reason=cause.reason, at=cause.at, of_node=of_node)][-MAX_NODES:]
    often = [each.name for each in found if after is not None and each.failures >= after]
    left_out = often[-plan.restarts.most_avoided :]
    return replace(record, node_failures=tuple(replace(each, avoided=each.name in left_out) for each in found))


def avoided(record: Record) -> tuple[str, ...]:
    """Return the nodes that pods are kept off."""
    return tuple(each.name for each in record.node_failures if each.avoided)
