"""Decides whether a PersistentVolumeClaim that exists may be used for a JobSet's ``volumeClaimPolicies``.

JobSet's webhook accepts a JobSet whose claim exists only with ``whenDeleted: Retain`` and the same spec; its controller
then uses whatever has the name. Muster decides when it needs the claim, by the same rule, with two differences. Only
the fields that the template states are compared: the API server adds others (volumeMode, volumeName), so that a claim
that was retained could not be used again. And a claim with the label of another JobSet is that one's.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.api.values.quantities import QuantityError, parse_quantity
from muster.kinds.jobset.labels import JOBSET_NAME
from muster.kube.metadata import Metadata
from muster.reconcilers.requests.adoption import SHOWN, name_taken
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Claim

KIND = "PersistentVolumeClaim"


class Found(msgspec.Struct, frozen=True, gc=False):
    """A claim, reduced to what is compared."""

    metadata: Metadata = Metadata()
    spec: dict[str, Any] = {}


def shared(found: Found, plan: Plan, claim: Claim) -> int | Refusal:
    """The resourceVersion of the claim if the pods may mount it, else the refusal."""
    owner = found.metadata.controller
    if found.metadata.deletion_timestamp or (owner is not None and owner.uid != plan.uid):
        return name_taken(KIND, found.metadata, plan)
    if owner is not None:
        return found.metadata.version
    if claim.owned:
        problem = "whenDeleted: Delete would remove data that is not this JobSet's; set whenDeleted: Retain to use it"
        return _refused(plan, claim, f"exists and is not owned by {plan.title}; {problem}, or delete the claim")
    name = (found.metadata.labels or {}).get(JOBSET_NAME)
    if name not in (None, plan.name):
        return _refused(plan, claim, f"is that of JobSet {name[:SHOWN]!r} by its label {JOBSET_NAME}; rename one")
    if field := differing(claim.spec, found.spec):
        return _refused(
            plan, claim, f"exists with another spec.{field} than the template states; write that one, or delete it"
        )
    return found.metadata.version


def differing(wanted: Mapping[str, Any], found: Mapping[str, Any], at: str = "") -> str:
    """The first field of a spec that another one has not, or has otherwise; empty if there is none."""
    for name, value in wanted.items():
        place, held = f"{at}{name}", found.get(name)
        if isinstance(value, Mapping) and isinstance(held, Mapping):
            if inner := differing(value, held, f"{place}."):
                return inner
        elif held != value and not (at.startswith("resources.") and _same_amount(value, held)):
            return place
    return ""


def _same_amount(one: object, other: object) -> bool:
    try:
        return parse_quantity(str(one)).value == parse_quantity(str(other)).value
    except QuantityError:
        return False


def _refused(plan: Plan, claim: Claim, why: str) -> Refusal:
    return Refusal("NameTaken", f"{KIND} {plan.namespace}/{claim.name} {why}.", final=True)
