"""The trouble of a fleet: incidents, suspect nodes, and problems of experiments in the order in which people look.

``muster top`` has nothing but the status (``seen_in``). The page of the daemon sees pods and clocks, too
(``rollcall.make``).
"""

import shlex
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from muster.api.conditions import ConditionType
from muster.api.status import ExperimentStatus, Phase
from muster.api.values.durations import age, count_of
from muster.state.facts.hang import HANGS
from muster.state.facts.incidents.incident import FLAPS, WINDOW, Incident
from muster.state.facts.nodes.suspects import Suspect
from muster.state.vocabulary.record import FINISHED


def incident_sentence(found: Incident) -> str:
    """Return what its subject blocks (``blocks``), and its flaps."""
    subject = " and ".join((found.key.subject, *found.beside))
    hits = any(sign.ended for sign in found.members)  # one that fails is started again
    flaps = f", flaps: {found.flaps} times in {WINDOW / 60:.0f} min" if found.flaps >= FLAPS else ""
    spaces = [run.namespace for run in found.runs]
    return blocks(f"{found.key.kind} {subject}", found.phases, spaces, found.ranks, hits=hits) + flaps


def blocks(
    subject: str, causes: Sequence[str], namespaces: Sequence[str], ranks: int | None, *, hits: bool = False
) -> str:
    """Return ``node n7: NodeNotReady, then NodeLost blocks 12 runs of 3 namespaces (40 ranks)``.

    ``namespaces`` has that of each run. ``ranks`` None: their number is not known. ``hits``: some runs have
    ended.
    """
    what = f"{subject}: {', then '.join(causes)}" if causes else subject
    if not namespaces:
        return f"{what} blocks no run now"
    number, scopes = len(namespaces), set(namespaces)
    scope = f" of {len(scopes)} namespaces" if len(scopes) > 1 else f" of namespace {namespaces[0]}"
    members = "" if ranks is None else f" ({count_of(ranks, 'rank')})"
    return f"{what} {'hits' if hits else 'blocks'} {count_of(number, 'run')}{scope}{members}"


def lasting(sentence: str, since: str, held: str) -> str:
    """Return ``… blocks 3 runs (…), since 7m; holds 24 accelerators``; ``since`` and ``held`` may be empty."""
    return sentence + (since and f", since {since}") + (held and f"; holds {held} accelerators")


def suspicion(suspect: Suspect, now: float) -> str:
    """Return ``node gpu-017 failed 7 runs of 4 namespaces in 6h (expected: 0.4)``."""
    of = count_of(suspect.namespaces, "namespace")
    span = age(max(60.0, (now - suspect.since) // 60 * 60))
    usual = f"{suspect.expected:.1f}" if suspect.expected >= 0.1 else "fewer than 0.1"
    return f"node {suspect.node} failed {count_of(suspect.runs, 'run')} of {of} in {span} (expected: {usual})"


def advice(node: str, *, control_plane: bool | None) -> str:
    """Return what to do. ``control_plane`` is None if it is unknown whether the node is one of the control plane."""
    name = shlex.quote(node)
    if control_plane:
        return f"do not drain it: it belongs to the control plane; see why it fails: kubectl describe node {name}"
    drain = f"drain it: kubectl drain {name} --ignore-daemonsets"
    if control_plane is None:
        return f"unless kubectl get node {name} shows the role control-plane, {drain}"
    return drain


RECENT: Final = 24 * 3600.0
"""Seconds for which a failed experiment is among those that need a look."""
NEAR: Final = 600.0
"""Seconds before the end of a clock at which a deadline is near, if its share is so small, too."""
NEAR_SHARE: Final = 0.1
"""The share of a clock that must be left at most; ``MusterDeadlineNear`` wants it as well."""


class Hurt(StrEnum):
    """The problems, the worst first."""

    HUNG = "hung"
    """The programs run, and make no step."""
    STUCK = "stuck"
    MISSING = "missing"
    """The programs run, and ranks are missing from the roll."""
    RESTARTING = "restarting"
    DEADLINE = "deadline"
    """A clock of the experiment runs out soon, or has run out."""
    FAILED = "failed"
    QUEUED = "queued"


IDLE: Final = frozenset({Hurt.HUNG, Hurt.STUCK, Hurt.MISSING})
"""Problems that leave the accelerators of a run idle."""

TITLES: Final = {
    **{hurt: hurt.value for hurt in Hurt},
    Hurt.MISSING: "ranks missing",
    Hurt.DEADLINE: "deadline near",
}

_PLACES: Final = {hurt: place for place, hurt in enumerate(Hurt)}
NOTHING: Final = len(Hurt)
"""The place of an experiment without a problem."""
OVER: Final = NOTHING + 1
"""The place of one that is over."""


def hurts(status: ExperimentStatus, *, missing: bool, deadline_near: bool) -> tuple[Hurt, ...]:
    """Return the problems of an experiment, in the order of ``Hurt``. ``missing``: ranks are missing from the roll."""
    if status.phase in FINISHED:
        return (Hurt.FAILED,) if status.phase == Phase.FAILED else ()
    found = []
    stuck = next((each for each in status.conditions if each.type is ConditionType.STUCK), None)
    if stuck is not None and stuck.status:
        found = [Hurt.HUNG, Hurt.STUCK] if stuck.reason in HANGS else [Hurt.STUCK]
    if missing and status.phase in (Phase.ASSEMBLING, Phase.RUNNING):
        found.append(Hurt.MISSING)
    if status.phase == Phase.RESTARTING:
        found.append(Hurt.RESTARTING)
    if deadline_near:
        found.append(Hurt.DEADLINE)
    if status.phase == Phase.QUEUED:
        found.append(Hurt.QUEUED)
    return tuple(found)


def seen_in(status: ExperimentStatus, now: float) -> tuple[Hurt, ...]:
    """Return the problems, as far as the status alone shows them."""
    missing = status.roll is not None and bool(status.roll.missing)
    return hurts(status, missing=missing, deadline_near=_deadline_near(status, now))


def near(limit: float) -> float:
    """Return how many seconds before its end a clock of that many seconds is near it."""
    return min(NEAR, NEAR_SHARE * limit)


def _deadline_near(status: ExperimentStatus, now: float) -> bool:
    if status.deadline is None:
        return False
    limit = NEAR / NEAR_SHARE if status.started_at is None else status.deadline - status.started_at
    return status.deadline - now < near(limit)


def place(status: ExperimentStatus, found: tuple[Hurt, ...], now: float) -> int:
    """Return the place among many: the lower, the earlier. One that failed long ago is over."""
    if status.phase in FINISHED:
        recent = found and now - (status.finished_at or status.phase_at) < RECENT
        return _PLACES[Hurt.FAILED] if recent else OVER
    return _PLACES[found[0]] if found else NOTHING
