"""Node anti-affinity: keeps a pod off nodes by name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

HOSTNAME: Final = "kubernetes.io/hostname"
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
    other = {"key": HOSTNAME, "operator": "NotIn", "values": list(nodes)}
    each = [{**term, "matchExpressions": [*(term.get("matchExpressions") or ()), other]} for term in terms]
    wanted = {**affinity, "nodeAffinity": {**of_nodes, REQUIRED: {"nodeSelectorTerms": each}}}
    return {**pod, "spec": {**spec, "affinity": wanted}}
