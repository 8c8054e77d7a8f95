"""Rights in a namespace: the caller's, by the commands that need them; musterd's and the caller's on watched runs.

The API server reviews them: the caller's by SelfSubjectAccessReview, musterd's by SubjectAccessReview.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from muster.api.errors import ApiError, Forbidden
from muster.api.names import GROUP, PLURAL
from muster.api.values.printable import printable
from muster.cli.doctor.daemon import AREA as MUSTERD
from muster.cli.doctor.daemon import Release
from muster.cli.doctor.server import AREA, SHOWN, Asker, Check, State
from muster.kinds.registry import WATCHED_KINDS
from muster.kube.resources import read
from muster.kube.unstructured import Json, mapping, text
from muster.state.policies.deadline import ASKS


@dataclass(frozen=True, slots=True)
class _Need:
    """Rights that commands need: verbs on a resource."""

    commands: tuple[str, ...]
    group: str
    resource: str
    verbs: tuple[str, ...]
    essential: bool = False


NEEDS = (
    _Need(("list", "get", "explain", "wait"), GROUP, PLURAL, ("get", "list", "watch"), essential=True),
    _Need(("submit",), GROUP, PLURAL, ("create",)),
    _Need(("cancel", "restart"), GROUP, PLURAL, ("patch",)),
    _Need(("delete", "prune"), GROUP, PLURAL, ("delete",)),
    _Need(("members in get and explain", "logs"), "", "pods", ("get", "list", "watch")),
    _Need(("logs",), "", "pods/log", ("get",)),
    _Need(("stacks",), "", "pods/exec", ("get", "create")),
    _Need(("port-forward",), "", "pods/portforward", ("get", "create")),
    _Need(("Events in explain",), "", "events", ("list",)),
)


async def rights(asker: Asker, namespace: str) -> AsyncGenerator[Check, None]:
    """Check what the caller may do in ``namespace``, by the commands that need it."""
    who = await _who(asker)
    answers = await asyncio.gather(*(asker.denied(need.verbs, need.group, need.resource, namespace) for need in NEEDS))
    place = f"in namespace {printable(namespace)}{f' as {who}' if who else ''}"
    lost = {command for need, denied in zip(NEEDS, answers, strict=True) if denied for command in need.commands}
    works = dict.fromkeys(command for need in NEEDS for command in need.commands if command not in lost)
    if works:
        yield Check(AREA, "rights", "ok", f"{place}: {', '.join(works)}")
    for role in ("view", "edit"):
        missing = [
            (need, denied)
            for need, denied in zip(NEEDS, answers, strict=True)
            if denied and role == ("view" if set(denied) <= {"get", "list", "watch"} else "edit")
        ]
        if not missing:
            continue
        what = "; ".join(_lacks(denied, need.resource, need.group) for need, denied in missing)
        without = ", ".join(dict.fromkeys(command for need, _ in missing for command in need.commands))
        remedy = (
            f"ask for a role: kubectl create rolebinding NAME -n {printable(namespace)} --clusterrole={role} "
            "--user=YOU (deploy/readers.yaml and the chart add experiments to these roles)"
        )
        state: State = "failed" if any(need.essential for need, _ in missing) else "warning"
        yield Check(AREA, "rights", state, f"{place} you may not {what} (needed for: {without})", remedy)


async def _who(asker: Asker) -> str:
    """Return the caller's user name (SelfSubjectReview, Kubernetes 1.28 and later); empty where it cannot be asked."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        review = read(await asker.answer("POST", path, body), Json, f"POST {path}")
    except ApiError:
        return ""
    return printable(text(mapping(mapping(review.get("status")).get("userInfo")), "username"), SHOWN)


CHECK: Final = "watched runs"
VERBS: Final = ("get", "list", "watch")
ENDING: Final = ("patch", "delete")
"""Rights for the deadlines that an object's own annotation asks for."""
FLAG: Final = "--watch-kinds"


async def watched(asker: Asker, release: Release, namespace: str) -> AsyncGenerator[Check, None]:
    """Check the rights on each watched kind: of musterd, as far as the caller may ask for them, and of the caller."""
    if release.pods is None:
        yield Check(MUSTERD, CHECK, "ok", f"you may not see the flags of musterd, so {FLAG} is not known")
        return
    asked = release.argument(FLAG, "").split(",")
    kinds = [kind for kind in WATCHED_KINDS if kind in asked or "all" in asked]
    made = {each.subject.words for kind in kinds if (each := WATCHED_KINDS[kind].made) is not None} - {*kinds}
    if not kinds:
        yield Check(MUSTERD, CHECK, "ok", f"not asked for: musterd has no {FLAG}")
        return
    place = f"in namespace {printable(namespace)}"
    account = _account(release)
    try:
        lacking = await _denied(asker, [*kinds, *sorted(made)], namespace, account)
        remedy = "the chart's watch.kinds grants them in a role of its own (docs/watched-runs.md)"
        if lacking:
            yield Check(MUSTERD, CHECK, "failed", f"{place} musterd ({account}) may not {lacking}", remedy)
        else:
            objects = [kind for kind in kinds if not WATCHED_KINDS[kind].virtual]
            unending = await _denied(asker, objects, namespace, account, ENDING) if objects else ""
            more = f"; it may not {unending}, so there {ASKS} ends nothing (the chart's watch.deadlines)"
            what = f"{place} musterd may read {', '.join(kinds)}{more if unending else ''}"
            yield Check(MUSTERD, CHECK, "ok", what)
    except Forbidden:
        what = f"musterd is to watch over {', '.join(kinds)}; whether it may read them you may not ask"
        yield Check(MUSTERD, CHECK, "ok", what)
    if denied := await _denied(asker, kinds, namespace):
        remedy = "ask for the right to read them: muster get, list and explain of these kinds need it"
        yield Check(MUSTERD, CHECK, "warning", f"{place} you may not {denied}", remedy)


def _account(release: Release) -> str:
    name = next((text(mapping(pod.get("spec")), "serviceAccountName") for pod in release.pods or ()), "")
    return printable(f"system:serviceaccount:{release.namespace}:{name or 'default'}")


async def _denied(asker: Asker, kinds: list[str], namespace: str, user: str = "", verbs: Sequence[str] = VERBS) -> str:
    """Return what of these verbs a user, or the caller, may not do with these kinds. Raises ``ApiError``."""
    missing = []
    for kind in kinds:
        subject = WATCHED_KINDS[kind].subject
        group, resource = subject.group, subject.plural or kind
        if denied := await asker.denied(verbs, group, resource, namespace, user):
            missing.append(_lacks(denied, resource, group))
    return "; ".join(missing)


def _lacks(verbs: Sequence[str], resource: str, group: str) -> str:
    """Return ``get, list experiments.muster.dev``."""
    return f"{', '.join(verbs)} {resource}{f'.{group}' if group else ''}"
