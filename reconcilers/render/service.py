"""The headless Service that gives the members of an experiment their names.

What every object of an experiment carries: who owns it and whose it is.
"""

from typing import Any

from muster.api.names import API_VERSION, KIND, LABEL_EXPERIMENT, LABEL_MANAGED_BY, LABEL_UID, MANAGER
from muster.state.plan import Plan


def render_service(plan: Plan) -> dict[str, Any]:
    """One Service for every epoch of the experiment, named as the subdomain of its members.

    Addresses are published before pods are ready: members must find the coordinator in order to become ready.
    """
    spec: dict[str, object] = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {LABEL_UID: plan.uid},
    }
    if plan.coordinator is not None:
        port = plan.coordinator.port
        spec["ports"] = [{"name": "coordinator", "protocol": "TCP", "port": port, "targetPort": port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": plan.name,
            "namespace": plan.namespace,
            "labels": labels(plan),
            "ownerReferences": [owner_reference(plan)],
        },
        "spec": spec,
    }


def owner_reference(plan: Plan) -> dict[str, object]:
    """The controlling owner: deleting the Experiment takes the object along (garbage collection by uid)."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": plan.name,
        "uid": plan.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def labels(plan: Plan) -> dict[str, object]:
    """The labels of every object of the experiment. Selectors use the uid: names come back, uids do not."""
    return {LABEL_MANAGED_BY: MANAGER, LABEL_EXPERIMENT: plan.name, LABEL_UID: plan.uid}
