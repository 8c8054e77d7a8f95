"""Sentences that propose an action about a suspect node."""

import shlex

from muster.api.values.humanize import age
from muster.state.facts.nodes.suspects import Suspect


def suspicion(suspect: Suspect, now: float) -> str:
    """Return ``node gpu-017 failed 7 runs of 4 namespaces in 6h (expected: 0.4)``."""
    of = "1 namespace" if suspect.namespaces == 1 else f"{suspect.namespaces} namespaces"
    span = age(max(60.0, (now - suspect.since) // 60 * 60))
    usual = f"{suspect.expected:.1f}" if suspect.expected >= 0.1 else "fewer than 0.1"
    return f"node {suspect.node} failed {suspect.runs} runs of {of} in {span} (expected: {usual})"


def advice(node: str, *, control_plane: bool | None) -> str:
    """Return what to do. ``control_plane`` is None if it is unknown whether the node is one of the control plane."""
    name = shlex.quote(node)
    if control_plane:
        return f"do not drain it: it belongs to the control plane; see why it fails: kubectl describe node {name}"
    drain = f"drain it: kubectl drain {name} --ignore-daemonsets"
    if control_plane is None:
        return f"unless kubectl get node {name} shows the role control-plane, {drain}"
    return drain
