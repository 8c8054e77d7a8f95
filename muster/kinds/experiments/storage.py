"""The shared volume of an experiment: one claim, made with it, removed with it, mounted into every member.

Its name bears the experiment's uid, so that an experiment of the same name never finds the files of an earlier one.
"""

from dataclasses import replace
from typing import Any

from muster.api.manifest.experiment import Experiment
from muster.api.names import LABEL_EXPERIMENT, LABEL_MANAGED_BY, LABEL_UID, MANAGER, name_suffix
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Claim, Volume

GB = 10**9


def with_shared_volume(experiment: Experiment, plan: Plan) -> Plan:
    """The plan with the claim of ``spec.storage.sharedVolume``, and its volume in every group."""
    storage = experiment.spec.storage
    wanted = storage.shared_volume if storage else None
    if wanted is None:
        return plan
    spec: dict[str, Any] = {
        "accessModes": [wanted.access_mode],
        "resources": {"requests": {"storage": str(round(wanted.size_gb * GB))}},
    }
    if wanted.storage_class is not None:  # else the cluster's default
        spec["storageClassName"] = wanted.storage_class
    claim = Claim(f"{plan.name}-shared-{name_suffix(plan.uid, 0)}", spec, labels=_labels(plan), exclusive=True)
    volume = Volume(claim.name, wanted.mount_point)
    groups = (replace(each, pod=replace(each.pod, volumes=(volume, *each.pod.volumes))) for each in plan.groups)
    return replace(plan, claims=(*plan.claims, claim), groups=tuple(groups))


def _labels(plan: Plan) -> dict[str, str]:
    """The labels of every object of the experiment."""
    return {LABEL_MANAGED_BY: MANAGER, LABEL_EXPERIMENT: plan.name, LABEL_UID: plan.uid}
