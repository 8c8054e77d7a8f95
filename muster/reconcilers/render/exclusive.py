"""Exclusive placement: each job of the group has one domain of a topology (a node pool, a rack) for itself.

JobSet lets its webhook place the first pod of a Job and makes the others follow it, which needs its controller and its
webhooks for every pod. Here every pod asks the scheduler for the same: together with the pods of its own job, and apart
from those of any other (jobset: pkg/webhooks, pod_mutating_webhook). Pods of every priority keep apart, and the
scheduler preempts for them as it does for each affinity. Where the nodes carry the name of the job already, a node
selector is enough.
"""

from typing import Any, Final

from muster.reconcilers.render.environment import Place
from muster.state.vocabulary.group import Group

JOB_KEY: Final = "jobset.sigs.k8s.io/job-key"
NODE_LABEL: Final = "alpha.jobset.sigs.k8s.io/namespaced-job"


def exclusive(spec: dict[str, Any], group: Group, place: Place) -> dict[str, Any]:
    """The fields of the pod's spec that change."""
    if group.labelled_nodes:
        return {"nodeSelector": {**(spec.get("nodeSelector") or {}), NODE_LABEL: place.node_job}}
    own: dict[str, Any] = {"key": JOB_KEY, "operator": "In", "values": [place.job_key]}
    others: list[dict[str, Any]] = [{"key": JOB_KEY, "operator": "Exists"}, {**own, "operator": "NotIn"}]
    affinity = dict(spec.get("affinity") or {})
    _add(affinity, "podAffinity", _term(group.exclusive, [own]))
    _add(affinity, "podAntiAffinity", _term(group.exclusive, others))
    return {"affinity": affinity}


def _term(topology: str, expressions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "labelSelector": {"matchExpressions": expressions},
        "topologyKey": topology,
        "namespaceSelector": {},
    }


def _add(affinity: dict[str, Any], kind: str, term: dict[str, Any]) -> None:
    stated = dict(affinity.get(kind) or {})
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity[kind] = {**stated, required: [*(stated.get(required) or ()), term]}
