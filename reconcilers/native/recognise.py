"""AlreadyExists: is it our own first copy, or somebody else's?"""

from muster.api.errors import Conflict, NotFound
from reconcilers.answers import Object, read
from reconcilers.native.calls import Calls
from reconcilers.native.refusals import name_taken
from reconcilers.paths import core
from state.plan import Plan
from state.view import Refusal


async def recognise(calls: Calls, plan: Plan, kind: str, name: str) -> int | Refusal:
    """The resourceVersion of the object of that name if the plan's Experiment controls it, else the refusal.

    Names are deterministic, so an object of ours is what an earlier create made whose answer was lost.
    Raises ``Conflict`` when the object went away between the create and this look.
    """
    resource = f"{kind.lower()}s"
    path = core(plan.namespace, resource, name)
    try:
        answer = await calls.do("GET", path)
    except NotFound as error:
        raise Conflict(
            f"{kind} {plan.namespace}/{name} existed when it was created and was gone when it was read",
            status=error.status,
            reason="Vanished",
            request=f"GET {path}",
        ) from error
    found = read(answer, Object, f"GET {path}").metadata
    owner = found.controller
    if owner is not None and owner.uid == plan.uid:
        return found.version
    return name_taken(kind, found, plan)
