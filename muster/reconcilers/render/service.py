"""Renders the headless Service of an experiment, and its claims."""

from typing import Any

from muster.api.names import LABEL_EXPERIMENT, LABEL_MANAGED_BY, LABEL_UID, MANAGER
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Claim, Port


def render_service(plan: Plan) -> dict[str, Any]:
    """Return the Service of an experiment, for all its epochs. Its name is the subdomain of the members.

    Unless the plan says otherwise it publishes addresses of pods that are not ready.
    """
    spec: dict[str, object] = {
        "clusterIP": "None",
        "publishNotReadyAddresses": plan.naming.publish_not_ready,
        "selector": {LABEL_UID: plan.uid},
    }
    if plan.coordinator is not None:
        ports = (Port("coordinator", plan.coordinator.port), *plan.coordinator.ports)
        spec["ports"] = [
            {"name": port.name, "protocol": "TCP", "port": port.number, "targetPort": port.number} for port in ports
        ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": plan.domain,
            "namespace": plan.namespace,
            "labels": labels(plan),
            "ownerReferences": [owner_reference(plan)],
        },
        "spec": spec,
    }


def owner_reference(plan: Plan) -> dict[str, object]:
    """Return the controller reference. The garbage collector deletes the object with the object of the plan."""
    return {
        "apiVersion": plan.subject.api_version,
        "kind": plan.subject.kind,
        "name": plan.name,
        "uid": plan.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def labels(plan: Plan) -> dict[str, object]:
    """Return the labels of every object of the experiment. Selectors use the uid, because a name can be used again."""
    return {LABEL_MANAGED_BY: MANAGER, LABEL_EXPERIMENT: plan.name, LABEL_UID: plan.uid}


def render_claim(plan: Plan, claim: Claim) -> dict[str, Any]:
    """Return the claim. The garbage collector deletes an owned one with the object of the plan."""
    metadata: dict[str, Any] = {"name": claim.name, "namespace": plan.namespace}
    if claim.labels:
        metadata["labels"] = dict(claim.labels)
    if claim.annotations:
        metadata["annotations"] = dict(claim.annotations)
    if claim.owned:
        metadata["ownerReferences"] = [owner_reference(plan)]
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": dict(claim.spec)}
