"""CreatePods: the members of one epoch, each exactly once however often it is asked for."""

from muster.api.errors import AlreadyExists, ApiError
from muster.kube.metadata import Object, read
from muster.kube.paths import core
from muster.reconcilers.native.adoption import recognise, refusal_of, rejected
from muster.reconcilers.native.batch import Batch, Calls
from muster.reconcilers.render.encode import Unrenderable
from muster.reconcilers.render.pod import PodTemplate
from muster.reconcilers.result import Outcome
from muster.state.actions import CreatePods
from muster.state.plan import Member, Plan
from muster.state.view import Refusal


async def create_pods(calls: Calls, action: CreatePods, plan: Plan) -> Outcome:
    """Create the members' pods."""
    wanted = {member.group for member in action.members}
    try:
        templates = {g.name: PodTemplate(plan, g, action.epoch) for g in plan.groups if g.name in wanted}
    except Unrenderable as error:
        return Outcome(refusal=rejected(error, "Pod"))
    path = core(plan.namespace, "pods")

    async def create(member: Member) -> int | Refusal:
        name = plan.pod_name(member, action.epoch)
        try:
            answer = await calls.do("POST", path, body=templates[member.group].render(member))
        except AlreadyExists:
            return await recognise(calls, plan, "Pod", name)
        except ApiError as error:
            if refusal := refusal_of(error, "Pod", name, plan):
                return refusal
            raise
        return read(answer, Object, f"POST {path}").metadata.version

    batch = Batch[Member]()
    width = min(calls.concurrency, len(action.members))
    await batch.run(f"create pods of {plan.namespace}/{plan.name}", action.members, create, width=width)
    return batch.outcome()
