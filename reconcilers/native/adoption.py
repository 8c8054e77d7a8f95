"""Decides whether an object that exists already is our own."""

from muster.api.errors import Conflict, NotFound
from muster.api.names import API_VERSION, KIND
from muster.kube.metadata import Metadata, Object, read
from muster.kube.paths import core
from muster.reconcilers.native.batch import Calls
from muster.state.plan import Plan
from muster.state.view.engine_facts import Refusal


async def recognise(calls: Calls, plan: Plan, kind: str, name: str) -> int | Refusal:
    """The resourceVersion of the object of that name if the plan's Experiment controls it, else the refusal.

    Names are deterministic, so an object of ours was created by an earlier request whose answer was lost.
    Raises ``Conflict`` when the object was deleted between the create and this GET.
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


def name_taken(kind: str, found: Metadata, plan: Plan) -> Refusal:
    """The refusal for an object that exists and is not ours.

    Not final if the object is being deleted, or if it belongs to an earlier Experiment of the same name: the garbage
    collector removes it then.
    """
    owner = found.controller
    leftover = owner is not None and (owner.api_version, owner.kind, owner.name) == (API_VERSION, KIND, plan.name)
    whose = f"is controlled by {owner.kind} {owner.name} (uid {owner.uid})" if owner else "has no controller"
    ours = f"Experiment {plan.name} (uid {plan.uid})"
    if leftover or found.deletion_timestamp:
        advice = "It is left over and will be removed; the experiment waits for that."
    else:
        advice = f"Delete that {kind}, or give the experiment another name, and start the experiment anew."
    return Refusal(
        "NameTaken",
        f"{kind} {plan.namespace}/{found.name} exists and {whose}; it does not belong to {ours}. {advice}",
        final=not (leftover or found.deletion_timestamp),
    )
