"""AlreadyExists: recognise our own first copy, or refuse with the owner's name.

Refusals are answers that mean "no" rather than "not now"; their messages say what to do next.
"""

from muster.api.errors import ApiError, Conflict, Forbidden, Invalid, MusterError, NotFound
from muster.api.names import API_VERSION, KIND
from muster.kube.metadata import Metadata, Object, read
from muster.kube.paths import core
from muster.reconcilers.native.batch import Calls
from muster.state.plan import Plan
from muster.state.view.engine_facts import Refusal


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


SAID = 600
"""How many characters of the API server's own words are kept: an admission webhook may say any amount."""


def refusal_of(error: ApiError, kind: str, name: str, plan: Plan) -> Refusal | None:
    """The refusal that an answer to the create of ``kind`` ``name`` stands for, or None where trying again may help."""
    what, said = f"{kind} {plan.namespace}/{name}", error.message[:SAID]
    match error:
        case Forbidden():
            return Refusal(
                f"{kind}sForbidden",
                f"The API server forbids {what}: {said}. Free or raise the quota, let the namespace's admission "
                "(Pod Security, a policy) admit it, or give Muster the right, whichever it is. It is tried again.",
                final=False,
            )
        case Invalid():
            return Refusal(
                f"{kind}Rejected",
                f"The API server rejects {what}: {said}. Correct the experiment's spec and start it anew.",
                final=True,
            )
        case NotFound():
            return Refusal(
                "NamespaceGone",
                f"{what} cannot be created: {said}. The namespace {plan.namespace} is gone or going.",
                final=True,
            )
    return None


def rejected(error: MusterError, kind: str) -> Refusal:
    """The refusal for an object that cannot even be written down."""
    return Refusal(f"{kind}Rejected", str(error), final=True)


def name_taken(kind: str, found: Metadata, plan: Plan) -> Refusal:
    """The refusal for an object that exists and is not ours.

    Final, unless it goes by itself: it is being deleted, or it is left over from an earlier Experiment of the same
    name, which the garbage collector removes.
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
