"""A pod whose template is the whole PodTemplateSpec of an object of another kind.

The pod follows the template, with the identity, owner and host name that Muster gives each member. Injected variables
go to every container, before those of the template: these may refer to them as ``$(NAME)``. A variable of the same name
in the template is replaced, as by the kind's own controller, which appends its variables.
"""

from typing import Any, Final

from muster.reconcilers.render.environment import Cell, Place, environment, variable
from muster.reconcilers.render.objects import labels, owner_reference
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Env


def whole_pod(
    plan: Plan, group: Group, epoch: int, place: Place, own: dict[str, Cell], *, apart: bool
) -> dict[str, Any]:
    """Return the pod of one member. ``own`` are Muster's identifying labels; ``apart``: it is the coordinator's."""
    template = group.template
    metadata = template.get("metadata") or {}
    injected = environment(plan, group, epoch, place)
    names = {each["name"] for each in injected}

    def container(stated: dict[str, Any]) -> dict[str, Any]:
        kept = [each for each in stated.get("env") or () if each.get("name") not in names]
        return {**stated, "env": [*injected, *kept]} if injected or kept else dict(stated)

    spec = {**template["spec"], "hostname": place.hostname}
    if plan.naming.service:
        spec["subdomain"] = plan.domain
    if group.exclusive:
        spec |= exclusive(spec, group, place)
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [container(each) for each in spec[kind]]
    found: dict[str, Any] = {
        "name": place.name,
        "namespace": plan.namespace,
        "labels": {
            **(metadata.get("labels") or {}),
            **_texts(group.labels + (group.coordinator_labels if apart else ()), plan, epoch, place),
            **labels(plan),
            **own,
        },
        "ownerReferences": [owner_reference(plan)],
    }
    if annotations := {**(metadata.get("annotations") or {}), **_texts(group.annotations, plan, epoch, place)}:
        found["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Pod", "metadata": found, "spec": spec}


def _texts(wanted: tuple[Env, ...], plan: Plan, epoch: int, place: Place) -> dict[str, object]:
    return {each.name: variable(each, plan, epoch, place)["value"] for each in wanted}


JOB_KEY: Final = "jobset.sigs.k8s.io/job-key"
NODE_LABEL: Final = "alpha.jobset.sigs.k8s.io/namespaced-job"


def exclusive(spec: dict[str, Any], group: Group, place: Place) -> dict[str, Any]:
    """Return the fields of the pod's spec that give each job a domain of a topology (a node pool, a rack) for itself.

    JobSet lets its webhook place the first pod of a Job and makes the others follow it, which needs its controller and
    its webhooks for every pod. Here every pod asks the scheduler for the same: together with the pods of its own job,
    and apart from those of any other (jobset: pkg/webhooks, pod_mutating_webhook). Pods of every priority keep apart,
    and the scheduler preempts for them as for each affinity. If the nodes already have the name of the job, a node
    selector is enough.
    """
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
