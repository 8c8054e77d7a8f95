"""CreatePods: creates the members of one epoch; a repeated action creates no second pod."""

from muster.api.errors import AlreadyExists, ApiError
from muster.kube.metadata import Object, read
from muster.kube.paths import core
from muster.reconcilers.render.encode import Unrenderable
from muster.reconcilers.render.environment import NO_RESTARTS, Restarts
from muster.reconcilers.render.pod import PodTemplate, identity
from muster.reconcilers.render.progress import Endpoint
from muster.reconcilers.requests.adoption import as_sent, recognise
from muster.reconcilers.requests.batch import Batch, Calls
from muster.reconcilers.requests.refusals import refusal_of, rejected
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import CreatePods
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.plan import Plan

STRICT = {"fieldValidation": "Strict"}
"""Makes the API server reject unknown fields, which it drops otherwise. Only for pods with a template: Muster does not
check the deeper parts of one, and the check costs the API server time."""


async def create_pods(
    calls: Calls,
    action: CreatePods,
    plan: Plan,
    batch: Batch[Member],
    restarts: Restarts = NO_RESTARTS,
    endpoint: Endpoint | None = None,
) -> Outcome:
    """Create the members' pods, until ``batch`` is stopped."""
    wanted = {member.group for member in action.members}
    try:
        templates = {
            group.name: PodTemplate(plan, group, action.epoch, restarts, action.avoid, endpoint)
            for group in plan.groups
            if group.name in wanted
        }
    except Unrenderable as error:
        return Outcome(refusal=rejected(error, "Pod"))
    path = core(plan.namespace, "pods")
    strict = {g.name: STRICT if g.template else None for g in plan.groups}

    attempts = dict(action.attempts)

    async def create(member: Member) -> int | Refusal:
        attempt = attempts.get(member.rank, 0)
        name = plan.pod_name(member, action.epoch, attempt)
        labels = identity(plan, member, action.epoch, attempt)
        try:
            body = templates[member.group].render(member, attempt)
            answer = await calls.create(plan, "pods", body, strict[member.group])
        except AlreadyExists:
            return await recognise(calls, plan, "Pod", name, labels)
        except ApiError as error:
            if refusal := refusal_of(error, "create", "Pod", name, plan):
                return refusal
            raise
        return as_sent("Pod", read(answer, Object, f"POST {path}").metadata, plan, labels)

    await batch.run(f"create pods of {plan.namespace}/{plan.name}", action.members, create, calls.create_slots(plan))
    return batch.outcome()
