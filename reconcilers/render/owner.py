"""What every object of an experiment carries: who owns it and whose it is."""

from muster.api.names import API_VERSION, KIND, LABEL_EXPERIMENT, LABEL_MANAGED_BY, LABEL_UID, MANAGER
from state.plan import Plan


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
