"""EnsureClaims: creates the PersistentVolumeClaims that the pods of a plan share, where they are missing.

A claim that exists already is used as it is: one that outlived an earlier object of the name, or that was made by hand.
"""

from muster.api.errors import AlreadyExists, ApiError
from muster.reconcilers.native.batch import Calls
from muster.reconcilers.native.refusals import refusal_of, rejected
from muster.reconcilers.render.claim import render_claim
from muster.reconcilers.render.encode import Unrenderable, to_json
from muster.reconcilers.result import Outcome
from muster.state.plan import Plan

KIND = "PersistentVolumeClaim"


async def ensure_claims(calls: Calls, plan: Plan) -> Outcome:
    """Create each claim, or find it. Raises ``ApiError`` where a retry may help."""
    for claim in plan.claims:
        what = f"claim {claim.name} of {plan.namespace}/{plan.name}"
        try:
            await calls.create(plan, "persistentvolumeclaims", to_json(render_claim(plan, claim), what))
        except AlreadyExists:
            continue
        except Unrenderable as error:
            return Outcome(refusal=rejected(error, KIND))
        except ApiError as error:
            if refusal := refusal_of(error, "create", KIND, claim.name, plan):
                return Outcome(refusal=refusal)
            raise
    return Outcome(claims=True)
