"""EnsureService: creates the headless Service unless the Experiment owns one already."""

from muster.api.errors import AlreadyExists, ApiError
from muster.api.names import LABEL_UID
from muster.kube.metadata import Object, read
from muster.reconcilers.render.encode import Unrenderable, to_json
from muster.reconcilers.render.service import render_service
from muster.reconcilers.requests.adoption import as_sent, recognise
from muster.reconcilers.requests.batch import Calls
from muster.reconcilers.requests.refusals import refusal_of, rejected
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan


async def ensure_service(calls: Calls, plan: Plan) -> Outcome:
    """Create the Service, or find it. Raises ``ApiError`` where a retry may help."""
    try:
        body = to_json(render_service(plan), f"the Service of experiment {plan.namespace}/{plan.name}")
    except Unrenderable as error:
        return Outcome(refusal=rejected(error, "Service"))
    try:
        answer = await calls.create(plan, "services", body)
    except AlreadyExists:
        found = await recognise(calls, plan, "Service", plan.domain, {LABEL_UID: plan.uid})
        return Outcome(refusal=found) if isinstance(found, Refusal) else Outcome(service=True)
    except ApiError as error:
        if refusal := refusal_of(error, "create", "Service", plan.domain, plan):
            return Outcome(refusal=refusal)
        raise
    made = as_sent("Service", read(answer, Object, "POST services").metadata, plan, {LABEL_UID: plan.uid})
    return Outcome(refusal=made) if isinstance(made, Refusal) else Outcome(service=True)
