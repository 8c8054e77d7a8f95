"""EnsureClaims: creates the PersistentVolumeClaims that the pods of a plan share, where they are missing.

Of an exclusive claim that exists already only the plan's own is used; which others are, ``shared_claims`` decides. It
is asked for again at the start of each epoch: who deletes the claim of a running experiment takes it away when the last
of its pods is gone (finalizer kubernetes.io/pvc-protection), and the next epoch would wait for it for ever.
"""

from muster.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from muster.api.names import LABEL_UID
from muster.kube.metadata import Object, read
from muster.kube.paths import core
from muster.reconcilers.native.shared_claims import KIND, Found, shared
from muster.reconcilers.render.claim import render_claim
from muster.reconcilers.render.encode import Unrenderable, to_json
from muster.reconcilers.requests.adoption import as_sent, name_taken
from muster.reconcilers.requests.batch import Calls
from muster.reconcilers.requests.refusals import refusal_of, rejected
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Claim

RESOURCE = "persistentvolumeclaims"


async def ensure_claims(calls: Calls, plan: Plan, epoch: int, *, made: bool = False) -> Outcome:
    """Create each claim, or find it: an exclusive one is looked up first where an earlier epoch must have made it.

    Of one that the record says was ``made`` and that is gone, nothing is created before the record says that, too.
    Raises ``ApiError`` where a retry may help.
    """
    for claim in plan.claims:
        try:
            found = await _find(calls, plan, claim) if (epoch or made) and claim.exclusive else None
            if found is None and made and claim.exclusive:
                return Outcome(volume_gone=True)
            if found is None:
                found = await _create(calls, plan, claim)
        except ApiError as error:
            if refusal := refusal_of(error, "create", KIND, claim.name, plan):
                return Outcome(refusal=refusal)
            raise
        if isinstance(found, Refusal):
            return Outcome(refusal=found)
    return Outcome(claims=epoch)


async def _create(calls: Calls, plan: Plan, claim: Claim) -> int | Refusal:
    try:
        body = to_json(render_claim(plan, claim), f"claim {claim.name} of {plan.namespace}/{plan.name}")
    except Unrenderable as error:
        return rejected(error, KIND)
    try:
        answer = await calls.create(plan, RESOURCE, body)
    except AlreadyExists as error:
        found = await _find(calls, plan, claim)
        if found is None:
            raise Conflict(f"{error}, and was gone when it was read", status=409, reason="Vanished") from error
        return found
    made = read(answer, Object, f"POST {RESOURCE}").metadata
    return as_sent(KIND, made, plan, {LABEL_UID: plan.uid}) if claim.exclusive else made.version


async def _find(calls: Calls, plan: Plan, claim: Claim) -> int | Refusal | None:
    """The resourceVersion of the claim, the refusal for one that cannot be used, or None where there is none."""
    path = core(plan.namespace, RESOURCE, claim.name)
    try:
        answer = read(await calls.do("GET", path), Found, f"GET {path}")
    except NotFound:
        return None
    if not claim.exclusive:
        return shared(answer, plan, claim)
    found, owner = answer.metadata, answer.metadata.controller
    if owner is None or owner.uid != plan.uid or found.deletion_timestamp:
        return name_taken(KIND, found, plan)
    return as_sent(KIND, found, plan, {LABEL_UID: plan.uid})
