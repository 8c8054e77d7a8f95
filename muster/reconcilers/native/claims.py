"""EnsureClaims: creates the missing PersistentVolumeClaims that the pods of a plan share.

An existing exclusive claim is used only if it is the plan's own; ``shared`` decides about others. It is read again at
the start of each epoch: a claim that is deleted while its experiment runs disappears with the last of its pods
(finalizer kubernetes.io/pvc-protection), and the next epoch would wait for it forever.

JobSet's webhook accepts a JobSet whose claim exists only with ``whenDeleted: Retain`` and the same spec; its controller
then uses any claim of that name. Muster decides when it needs the claim, by the same rule, with two differences. Only
the fields that the template states are compared: the API server adds others (volumeMode, volumeName), so that a
retained claim could not be used again. And a claim with the label of another JobSet belongs to that JobSet.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from muster.api.names import LABEL_UID
from muster.api.values.quantities import QuantityError, parse_quantity
from muster.kinds.jobset.spec import JOBSET_NAME
from muster.kube.resources import Metadata, ask, core
from muster.reconcilers.render.objects import render_claim, to_json
from muster.reconcilers.requests.batch import SHOWN, Calls, as_sent, name_taken, owned
from muster.reconcilers.requests.refusals import refusal_or_raise
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Claim

KIND = "PersistentVolumeClaim"


class Found(msgspec.Struct, frozen=True, gc=False):
    """A claim, reduced to the compared fields."""

    metadata: Metadata = Metadata()
    spec: dict[str, Any] = {}


def shared(found: Found, plan: Plan, claim: Claim) -> int | Refusal:
    """Return the resourceVersion of the claim if the pods may mount it, else the refusal."""
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
    """Return the first field of a spec that another one lacks, or has with another value; empty if there is none."""
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
        return parse_quantity(str(one)) == parse_quantity(str(other))
    except QuantityError:
        return False


def _refused(plan: Plan, claim: Claim, why: str) -> Refusal:
    return Refusal("NameTaken", f"{KIND} {plan.namespace}/{claim.name} {why}.", final=True)


RESOURCE = "persistentvolumeclaims"


async def ensure_claims(calls: Calls, plan: Plan, epoch: int, *, made: bool = False) -> Outcome:
    """Create each claim, or find it: an exclusive one is read first if an earlier epoch must have made it.

    A claim that was ``made`` by the record and is gone is created again only after the record has that loss. Raises
    ``ApiError`` if a retry may help.
    """
    for claim in plan.claims:
        try:
            found = await _find(calls, plan, claim) if (epoch or made) and claim.exclusive else None
            if found is None and made and claim.exclusive:
                return Outcome(volume_gone=True)
            if found is None:
                found = await _create(calls, plan, claim)
        except ApiError as error:
            return Outcome(refusal=refusal_or_raise(error, plan, "create", KIND, claim.name))
        if isinstance(found, Refusal):
            return Outcome(refusal=found)
    return Outcome(claims=epoch)


async def _create(calls: Calls, plan: Plan, claim: Claim) -> int | Refusal:
    body = to_json(render_claim(plan, claim), f"claim {claim.name} of {plan.namespace}/{plan.name}")
    try:
        made = await calls.create(plan, RESOURCE, body)
    except AlreadyExists as error:
        found = await _find(calls, plan, claim)
        if found is None:
            raise Conflict(f"{error}, and was gone when it was read", status=409, reason="Vanished") from error
        return found
    return as_sent(KIND, made, plan, {LABEL_UID: plan.uid}) if claim.exclusive else made.version


async def _find(calls: Calls, plan: Plan, claim: Claim) -> int | Refusal | None:
    """Return the resourceVersion of the claim, the refusal for an unusable one, or None if there is none."""
    path = core(plan.namespace, RESOURCE, claim.name)
    try:
        answer = await ask(calls.do, "GET", path, Found)
    except NotFound:
        return None
    if not claim.exclusive:
        return shared(answer, plan, claim)
    if answer.metadata.deletion_timestamp:
        return name_taken(KIND, answer.metadata, plan)
    return owned(KIND, answer.metadata, plan, {LABEL_UID: plan.uid})
