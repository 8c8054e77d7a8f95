"""A claim of a plan as a core/v1 PersistentVolumeClaim."""

from typing import Any

from muster.reconcilers.render.service import owner_reference
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Claim


def render_claim(plan: Plan, claim: Claim) -> dict[str, Any]:
    """The claim. The garbage collector deletes an owned one with the object of the plan."""
    metadata: dict[str, Any] = {"name": claim.name, "namespace": plan.namespace}
    if claim.labels:
        metadata["labels"] = dict(claim.labels)
    if claim.annotations:
        metadata["annotations"] = dict(claim.annotations)
    if claim.owned:
        metadata["ownerReferences"] = [owner_reference(plan)]
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": dict(claim.spec)}
