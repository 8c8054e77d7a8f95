"""Node anti-affinity: keeps a pod off nodes by name.

The name is a field of the node. Its label kubernetes.io/hostname may differ from it, or be another node's. A
requirement on a field takes one value (kubernetes: pkg/apis/core/validation), so each node has its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

NAME: Final = "metadata.name"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def kept_off(pod: dict[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """The pod with these nodes left out, whatever else its template asks of nodes.

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
