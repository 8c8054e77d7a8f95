"""The headless Service that gives the members of an experiment their names."""

from typing import Any

from muster.api.names import LABEL_UID
from reconcilers.render.owner import labels, owner_reference
from state.plan import Plan


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
