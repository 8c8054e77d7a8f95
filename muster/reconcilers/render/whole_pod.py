"""A pod whose template is the whole PodTemplateSpec of a foreign object.

The pod is what the template says, with the identity, owner and host name that Muster gives each member. Injected
variables go to every container, before those of the template: these may refer to them as ``$(NAME)``. A variable of the
same name in the template gives way, as it does where the kind's own controller appends its variables.
"""

from typing import Any

from muster.reconcilers.render.environment import Cell, Place, environment, variable
from muster.reconcilers.render.exclusive import exclusive
from muster.reconcilers.render.service import labels, owner_reference
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Env


def whole_pod(
    plan: Plan, group: Group, epoch: int, place: Place, own: dict[str, Cell], *, apart: bool
) -> dict[str, Any]:
    """The pod of one member. ``own`` are the labels by which Muster knows it; ``apart``: it is the coordinator's."""
    template = group.template
    metadata = template.get("metadata") or {}
    injected = environment(plan, group, epoch, place)
    names = {each["name"] for each in injected}

    def container(stated: dict[str, Any]) -> dict[str, Any]:
        kept = [each for each in stated.get("env") or () if each.get("name") not in names]
        return {**stated, "env": [*injected, *kept]} if injected or kept else dict(stated)

    spec = {**template["spec"]}
    if group.job is None or group.job.indexed:
        spec["hostname"] = place.hostname
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
