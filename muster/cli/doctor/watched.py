"""Checks that musterd, and the caller, may read the runs of other controllers that musterd is to watch over."""

from collections.abc import AsyncGenerator, Sequence
from typing import Final

from muster.api.errors import Forbidden
from muster.api.values.printable import printable
from muster.cli.doctor.daemon import AREA, Release
from muster.cli.doctor.findings import Finding
from muster.cli.doctor.server import Asker
from muster.kinds.registry.watched_kinds import WATCHED_KINDS
from muster.kube.unstructured import mapping, text
from muster.state.policies.deadline_action import ASKS

CHECK: Final = "watched runs"
VERBS: Final = ("get", "list", "watch")
ENDING: Final = ("patch", "delete")
"""Rights for the deadlines that an object's own annotation asks for."""
FLAG: Final = "--watch-kinds"


async def watched(asker: Asker, release: Release, namespace: str) -> AsyncGenerator[Finding, None]:
    """Check the rights of musterd, as far as the caller may ask for them, and those of the caller, on each kind."""
    if release.pods is None:
        yield Finding(AREA, CHECK, "ok", f"you may not see the flags of musterd, so {FLAG} is not known")
        return
    asked = release.argument(FLAG, "").split(",")
    kinds = [kind for kind in WATCHED_KINDS if kind in asked or "all" in asked]
    made = {each.subject.words for kind in kinds if (each := WATCHED_KINDS[kind].made) is not None} - {*kinds}
    if not kinds:
        yield Finding(AREA, CHECK, "ok", f"not asked for: musterd has no {FLAG}")
        return
    place = f"in namespace {printable(namespace)}"
    account = _account(release)
    try:
        lacking = await _denied(asker, [*kinds, *sorted(made)], namespace, account)
        remedy = "the chart's watch.kinds grants them in a role of its own (docs/watched-runs.md)"
        if lacking:
            yield Finding(AREA, CHECK, "failed", f"{place} musterd ({account}) may not {lacking}", remedy)
        else:
            objects = [kind for kind in kinds if not WATCHED_KINDS[kind].virtual]
            unending = await _denied(asker, objects, namespace, account, ENDING) if objects else ""
            more = f"; it may not {unending}, so there {ASKS} ends nothing (the chart's watch.deadlines)"
            what = f"{place} musterd may read {', '.join(kinds)}{more if unending else ''}"
            yield Finding(AREA, CHECK, "ok", what)
    except Forbidden:
        what = f"musterd is to watch over {', '.join(kinds)}; whether it may read them you may not ask"
        yield Finding(AREA, CHECK, "ok", what)
    if denied := await _denied(asker, kinds, namespace):
        remedy = "ask for the right to read them: muster get, list and explain of these kinds need it"
        yield Finding(AREA, CHECK, "warning", f"{place} you may not {denied}", remedy)


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
            missing.append(f"{', '.join(denied)} {resource}{f'.{group}' if group else ''}")
    return "; ".join(missing)
