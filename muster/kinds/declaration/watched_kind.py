"""The declaration of a watched kind: how an object becomes a plan, and how its own status is read.

The labels of a pod name its owner (``PodSource.place_of``), and an object claims its pods (``WatchedKind.claims``).
Both use owner keys such as ``jobset/train``: the kind in lower case, and a name within the namespace. So an object can
claim pods that carry the name of another one: a RayJob those of its RayCluster.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from muster.state.view.own.own_state import OwnState
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.subject import Subject, title

SUBMITTED: Final = "muster submit runs it as an Experiment"
"""Advice for an object of a kind that ``muster convert`` reads."""
Object = Mapping[str, Any]
"""A decoded API object: ``metadata``, ``spec`` and ``status`` as they are on the wire, which may hold anything."""


def part_of(obj: object, *keys: str) -> Mapping[str, Any]:
    """Return the mapping at that place of a decoded object; an empty one where something else is, or nothing."""
    found = _at(obj, keys)
    return found if isinstance(found, Mapping) else {}


def list_of(obj: object, *keys: str) -> list[Any]:
    """Return the list at that place of a decoded object; an empty one where something else is, or nothing."""
    found = _at(obj, keys)
    return found if isinstance(found, list) else []


def texts_of(obj: object, *keys: str) -> dict[str, str]:
    """Return the texts by name at that place of a decoded object, such as its labels."""
    found = part_of(obj, *keys)
    return {name: text for name, text in found.items() if isinstance(name, str) and isinstance(text, str)}


def _at(obj: object, keys: tuple[str, ...]) -> object:
    for key in keys:
        obj = obj.get(key) if isinstance(obj, Mapping) else None
    return obj


class PodFacts(msgspec.Struct, frozen=True, gc=False):
    """Fields of a pod that identify its owner. ``kind``, ``owner`` and ``owner_uid`` are those of its controller."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    """Only those of Muster, and the index that the Job controller writes."""
    kind: str = ""
    owner: str = ""
    owner_uid: str = ""


class Place(msgspec.Struct, frozen=True, gc=False):
    """A pod's place by its labels. The rank follows from the plan: ``first_rank + job * completions + index``."""

    owner: str
    """The owner key: ``jobset/train``."""
    group: str
    job: int
    index: int
    """Within the job; -1 where the pod has none, and any free place of the group is its own."""
    epoch: int = 0
    uid: str = ""
    """Uid of the owner, if the pod has it: pods of a deleted object of the same name are not counted."""


class Claim(msgspec.Struct, frozen=True, gc=False):
    """Pods with the owner key ``owner`` are the object's. Where set, ``group`` and ``epoch`` replace the pod's own."""

    owner: str
    group: str = ""
    epoch: int = -1


@dataclass(frozen=True, slots=True)
class PodSource:
    """A watch of pods: the selector is the existence of ``label``.

    ``place_of`` returns None for a pod that has no place. It must not raise, whatever the labels hold.
    """

    name: str
    """The plural of the kind that labels the pods."""
    label: str
    place_of: Callable[[PodFacts], Place | None]


@dataclass(frozen=True, slots=True)
class Made:
    """The object that the controller of another one makes for it, and that defines which pods are expected.

    ``joined`` gives the plan of the outer object from its own one and that of the object which was made.
    """

    subject: Subject
    plan_of: Callable[[Object], Plan]
    joined: Callable[[Plan, Plan], Plan]


def own_name(subject: Subject) -> Callable[[Object], tuple[Claim, ...]]:
    """Return claims of the pods that carry the object's own kind and name."""

    def claims(obj: Object) -> tuple[Claim, ...]:
        return (Claim(title(subject.word, str(obj["metadata"]["name"]))),)

    return claims


def every(_object: Object) -> bool:
    """Return True: every object of the kind is watched over."""
    return True


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """One watched kind.

    ``plan_of`` gives a plan with ``Engine.WATCH`` (see ``kinds.planning.watched_plan``), and raises ``SpecError`` or
    ``PlanError``. ``own_state`` must not raise. ``wanted`` is True for an object that is watched over.
    """

    subject: Subject
    pods: tuple[PodSource, ...]
    plan_of: Callable[[Object], Plan]
    own_state: Callable[[Object], OwnState]
    claims: Callable[[Object], tuple[Claim, ...]]
    level: int
    """Kinds of a lower level are outer: an object whose controller is one of them is a part of that."""
    members: str
    """For the page: how the members get their ranks."""
    about: str = ""
    """For the page: which objects; empty: all of the kind."""
    epochs: str = "one"
    """For the page: what begins an epoch."""
    wanted: Callable[[Object], bool] = every
    suspend: Mapping[str, Any] | None = None
    """The merge patch that suspends an object; None where the kind has no such field."""
    makes: tuple[str, ...] = ()
    """Owner keys of what its controller makes before there are pods, which Events may be about. They may hold the
    ``{name}`` and ``{uid}`` of the object, and the ``{group}`` and ``{job}`` of a member without a pod."""
    made: Made | None = None
    """The object that the controller makes, if that one defines the pods."""
    handed: str = "write an Experiment for it: muster init begins one"
    """Advice for running an object by Muster if no other controller runs it."""

    @property
    def name(self) -> str:
        """Return its value of ``--watch-kinds``: its plural, or Muster's; without a kind of the API, its only watch."""
        return self.subject.words or self.pods[0].name

    @property
    def virtual(self) -> bool:
        """Return True if only the pods exist, by their label, and no object."""
        return not self.subject.plural
