"""Where pods are put: node selectors and tolerations of a queue's flavors, and the nodes that are kept free of a pod.

The former are merged over what the manifest asks for. Kueue assigns no flavor that contradicts the node selector of the
podSet, so a label of both differs only where the flavor was changed since.

Node anti-affinity keeps a pod off nodes by name. The name is a field of the node. Its label kubernetes.io/hostname may
differ from it, or be another node's. A requirement on a field takes one value (kubernetes: pkg/apis/core/validation),
so each node has its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from muster.api.manifest.template.merge import merge
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.workload import PodSetPlacement


def placed(plan: Plan, placement: Sequence[PodSetPlacement]) -> Plan:
    """Return the plan with what the flavors ask of its pods; the same plan where they ask nothing."""
    by_group = {each.group: each for each in placement if each.node_selector or each.tolerations}
    if not by_group:
        return plan
    return replace(
        plan,
        groups=tuple(
            _placed(group, by_group[group.name]) if group.name in by_group else group for group in plan.groups
        ),
    )


def _placed(group: Group, where: PodSetPlacement) -> Group:
    spec: dict[str, object] = {}
    if where.node_selector:
        spec["nodeSelector"] = dict(where.node_selector)
    if where.tolerations:
        spec["tolerations"] = [msgspec.to_builtins(each) for each in where.tolerations]
    return replace(group, template=merge(group.template, {"spec": spec}))


NAME: Final = "metadata.name"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def kept_off(pod: dict[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """Return the pod with these nodes left out, whatever else its template asks of nodes.

    The terms of a node selector are alternatives (core/v1 NodeSelector), so the condition is added to each of them.
    """
    if not nodes:
        return pod
    spec = pod["spec"]
    affinity: Mapping[str, Any] = spec.get("affinity") or {}
    of_nodes: Mapping[str, Any] = affinity.get("nodeAffinity") or {}
    terms: Sequence[Mapping[str, Any]] = (of_nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or ({},)
    others = [{"key": NAME, "operator": "NotIn", "values": [node]} for node in nodes]
    each = [{**term, "matchFields": [*(term.get("matchFields") or ()), *others]} for term in terms]
    wanted = {**affinity, "nodeAffinity": {**of_nodes, REQUIRED: {"nodeSelectorTerms": each}}}
    return {**pod, "spec": {**spec, "affinity": wanted}}
