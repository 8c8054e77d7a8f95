"""Rights of the caller in a namespace, by the commands that need them (SelfSubjectAccessReview)."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from muster.api.errors import ApiError
from muster.api.names import GROUP, PLURAL
from muster.api.values.printable import printable
from muster.cli.doctor.findings import Finding, State
from muster.cli.doctor.server import AREA, SHOWN, Asker
from muster.kube.metadata import read
from muster.kube.unstructured import Json, mapping, text


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


async def rights(asker: Asker, namespace: str) -> AsyncGenerator[Finding, None]:
    """Check what the caller may do in ``namespace``, by the commands that need it."""
    who = await _who(asker)
    answers = await asyncio.gather(*(asker.denied(need.verbs, need.group, need.resource, namespace) for need in NEEDS))
    place = f"in namespace {printable(namespace)}{f' as {who}' if who else ''}"
    lost = {command for need, denied in zip(NEEDS, answers, strict=True) if denied for command in need.commands}
    works = dict.fromkeys(command for need in NEEDS for command in need.commands if command not in lost)
    if works:
        yield Finding(AREA, "rights", "ok", f"{place}: {', '.join(works)}")
    for role in ("view", "edit"):
        missing = [
            (need, denied)
            for need, denied in zip(NEEDS, answers, strict=True)
            if denied and role == ("view" if set(denied) <= {"get", "list", "watch"} else "edit")
        ]
        if not missing:
            continue
        what = "; ".join(
            f"{', '.join(denied)} {need.resource}{f'.{need.group}' if need.group else ''}" for need, denied in missing
        )
        without = ", ".join(dict.fromkeys(command for need, _ in missing for command in need.commands))
        remedy = (
            f"ask for a role: kubectl create rolebinding NAME -n {printable(namespace)} --clusterrole={role} "
            "--user=YOU (deploy/readers.yaml and the chart add experiments to these roles)"
        )
        state: State = "failed" if any(need.essential for need, _ in missing) else "warning"
        yield Finding(AREA, "rights", state, f"{place} you may not {what} (needed for: {without})", remedy)


async def _who(asker: Asker) -> str:
    """Return the caller's user name (SelfSubjectReview, Kubernetes 1.28 and later); empty where it cannot be asked."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        review = read(await asker.answer("POST", path, body), Json, f"POST {path}")
    except ApiError:
        return ""
    return printable(text(mapping(mapping(review.get("status")).get("userInfo")), "username"), SHOWN)
