"""The objects that are asked why a watched run has no pods: itself, and what its controllers make before the pods.

What they make is named by the kind (``WatchedKind.makes``), and by the pods that the object claims: those of its
RayCluster, or of its JobSet. Only the parts of one member are named: what keeps one of its kind keeps the others.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from muster.kinds.declaration.watched_kind import WatchedKind
from muster.state.vocabulary.plan import Plan

MOST: Final = 6
"""Parts that are asked."""
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")
"""Name of an object (RFC 1123). A status may hold any text."""


class Part(NamedTuple):
    """An object by its kind in lower case and its name; the uid is empty where only its controller knows it."""

    kind: str
    name: str
    uid: str = ""


def parts_of(kind: WatchedKind, plan: Plan, claims: Iterable[str], rank: int) -> tuple[Part, ...]:
    """Return the object, then its parts on the way to the member of that rank. Labelled pods have none."""
    if kind.virtual:
        return ()
    member = plan.member(rank)
    group, job = (member.group, member.job) if member is not None else ("", 0)
    named = [each.format(name=plan.name, uid=plan.uid, group=group, job=job) for each in kind.makes]
    own = Part(kind.subject.kind.lower(), plan.name, plan.uid)
    found = [Part(*owner.partition("/")[::2]) for owner in (*claims, *named)]
    called = kind.subject.word.lower()
    others = (each for each in found if (each.kind, each.name) != (called, plan.name) and _NAME.match(each.name))
    return tuple(dict.fromkeys((own, *others)))[:MOST]
