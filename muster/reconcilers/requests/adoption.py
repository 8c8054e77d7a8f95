"""Decides whether an existing object is our own, and whether a created one is unchanged."""

from collections.abc import Mapping

from muster.api.errors import Conflict, NotFound
from muster.api.names import GROUP
from muster.kube.metadata import Metadata, Object, OwnerReference, read
from muster.kube.paths import core
from muster.reconcilers.requests.batch import Calls
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.refusals import ALTERED, of_kind

SHOWN = 63
"""Most characters of a label's value that are shown; Kubernetes allows no more."""


async def recognise(calls: Calls, plan: Plan, kind: str, name: str, labels: Mapping[str, str]) -> int | Refusal:
    """Return the resourceVersion of the object of that name if it is the plan's Experiment's, else the refusal.

    The Experiment must control it, and it must have these labels.

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
    return owned(kind, read(answer, Object, f"GET {path}").metadata, plan, labels)


def owned(kind: str, found: Metadata, plan: Plan, labels: Mapping[str, str]) -> int | Refusal:
    """Return the object's resourceVersion if the plan's Experiment controls it and it has these labels."""
    owner = found.controller
    ours = owner is not None and owner.uid == plan.uid
    return as_sent(kind, found, plan, labels) if ours else name_taken(kind, found, plan)


def as_sent(kind: str, found: Metadata, plan: Plan, labels: Mapping[str, str]) -> int | Refusal:
    """Return the object's resourceVersion if it has the labels that select and identify it, else the refusal.

    Without them no watch would show it, and the experiment would wait for it without an explanation.
    """
    held = found.labels or {}
    changed = next((name for name, value in labels.items() if held.get(name) != value), None)
    if changed is None:
        return found.version
    now = repr(held[changed][:SHOWN]) if changed in held else "missing"
    return Refusal(
        of_kind(kind, ALTERED),
        f"{kind} {plan.namespace}/{found.name} was created with {changed}={labels[changed]}; the label is now {now}. "
        f"An admission webhook or policy, or a person, changed it: leave labels under {GROUP}/ as they are, and delete "
        f"that {kind}. Muster tries again.",
        final=False,
    )


def name_taken(kind: str, found: Metadata, plan: Plan) -> Refusal:
    """Return the refusal for an object that exists and is not ours.

    Not final if the object is being deleted, or if it belongs to an earlier Experiment of the same name: the garbage
    collector removes it then.
    """
    owner = found.controller
    if kind == "Pod" and owner is None:
        return Refusal(
            of_kind(kind, ALTERED),
            f"Pod {plan.namespace}/{found.name} exists and has no ownerReference of a controller; its name is that of "
            f"a member of {plan.subject.kind} {plan.name} (uid {plan.uid}). Set the ownerReference again, or delete "
            "the pod. Muster tries again.",
            final=False,
        )
    leftover = owner is not None and _identity(owner) == (plan.subject.api_version, plan.subject.kind, plan.name)
    whose = f"is controlled by {owner.kind} {owner.name} (uid {owner.uid})" if owner else "has no controller"
    ours = f"{plan.subject.kind} {plan.name} (uid {plan.uid})"
    if leftover or found.deletion_timestamp:
        advice = "It is left over and will be removed; the experiment waits for that."
    else:
        advice = f"Delete that {kind}, or give the experiment another name, and start the experiment again."
    return Refusal(
        "NameTaken",
        f"{kind} {plan.namespace}/{found.name} exists and {whose}; it does not belong to {ours}. {advice}",
        final=not (leftover or found.deletion_timestamp),
    )


def _identity(owner: OwnerReference) -> tuple[str, str, str]:
    return owner.api_version, owner.kind, owner.name
