"""DeleteSubject: deletes the object of a finished experiment, as it was decided on and no other.

The request carries the uid and the resourceVersion of the decision, so an object that was edited meanwhile, or created
again under the same name, is left alone. The garbage collector and ``collect_pods`` take what it owned.
"""

from dataclasses import replace

import msgspec

from muster.api.errors import ApiError, Conflict, NotFound
from muster.reconcilers.refs import ref_of
from muster.reconcilers.requests.batch import Calls
from muster.reconcilers.requests.refusals import refusal_of
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.plan import Plan


async def delete_subject(calls: Calls, plan: Plan, version: int) -> Outcome:
    """Delete the object. Raises ``ApiError`` where a retry may help: ``Conflict`` if it has changed since."""
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": plan.uid, "resourceVersion": str(version)},
        "propagationPolicy": "Background",
    }
    async with calls.slots(plan):
        try:
            await calls.do("DELETE", ref_of(plan).path, body=msgspec.json.encode(options))
        except NotFound:
            return Outcome(removed=True)
        except Conflict:
            raise
        except ApiError as error:
            if refusal := refusal_of(error, "delete", plan.subject.kind, plan.name, plan):
                return Outcome(refusal=replace(refusal, final=False))
            raise
    return Outcome(removed=True)
