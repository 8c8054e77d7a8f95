"""Declarations: of an operator, of a kind that Muster runs, of a kind that it watches over.

An operator declares only what is special about its framework. A kind that Muster runs, beside Experiments, declares how
its spec becomes a plan, and how a record becomes the kind's own status. A watched kind declares how an object becomes a
plan, and how its own status is read.

The labels of a pod name its owner (``PodSource.place_of``), and an object claims its pods (``WatchedKind.claims``).
Both use owner keys such as ``jobset/train``: the kind in lower case, and a name within the namespace. So an object can
claim pods that carry the name of another one: a RayJob those of its RayCluster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from muster.api.errors import MusterError
from muster.api.gang import GroupSize
from muster.api.manifest.experiment import Experiment
from muster.api.manifest.groups import Group
from muster.api.manifest.operators import InMembers
from muster.api.manifest.problems import Problem
from muster.api.manifest.resources import Resources
from muster.api.manifest.yaml.reader import Node
from muster.api.names import ENV_PREFIX, MANAGED_BY
from muster.api.values.timestamps import whole_time
from muster.state.view.own import OwnState
from muster.state.view.view import View
from muster.state.vocabulary.group import Coordinator
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Env
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import EVERY_JOB, GANG_FAILURE_RULES, CulpritRule, FailureRule, SuccessRule
from muster.state.vocabulary.subject import Subject, title


class PlanError(MusterError):
    """The spec is well-formed, but asks for something this release does not do."""


SIGABRT_EXIT: Final = 134
"""128 + SIGABRT, the exit code of an aborted process."""
RESTART_GRACE: Final = 2
"""Seconds of grace for survivors that cannot continue without the member that was lost."""
SAMPLE: Final = Group("worker", 1, 1, 1, Resources(cpus=1, memory=1))
"""A group whose variables have the names that those of any other have."""


@dataclass(frozen=True, slots=True)
class Operator(InMembers):
    """A framework, as far as Muster has to know it.

    ``env`` gives the variables of one group's members, ``coordinator`` the member they meet at (None: they do not).
    """

    name: str
    env: Callable[[Group, tuple[Group, ...]], tuple[Env, ...]]
    coordinator: Callable[[tuple[Group, ...]], Coordinator | None]
    success: SuccessRule = EVERY_JOB
    failures: tuple[FailureRule, ...] = GANG_FAILURE_RULES
    survivor_exits: frozenset[int] = frozenset()
    """Exit codes with which members end because another member was lost."""
    survivor_text: str = ""
    """Regular expression of the last words of such members."""
    culprits: tuple[CulpritRule, ...] = ()
    """Rules by which such members, or the coordinator, name the one that was lost."""
    launcher: float = 0.0
    """Seconds that its launcher needs to see that a process of its pod has ended."""
    finish: Callable[[Experiment, Plan], Plan] | None = None
    """Function that adds to the plan of the manifest's types: groups of the framework's own, gates, programs."""
    finished_env: Callable[[], tuple[Env, ...]] = tuple
    """Variables that ``finish`` adds, with any values."""
    restart_grace: int | None = None
    """Seconds of grace for the pods of a broken gang where the manifest states none; None: the pods' usual grace."""

    @property
    def injected(self) -> frozenset[str]:
        """Return the variables that it sets in a member, as ``env`` and ``finish`` give them."""
        given = (*self.env(SAMPLE, (SAMPLE,)), *self.finished_env())
        return frozenset(each.name for each in given if not each.name.startswith(ENV_PREFIX))


def size_of(groups: tuple[Group, ...]) -> int:
    """Return the number of members that the groups have together."""
    return sum(group.members for group in groups)


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
    return {name: text for name, text in part_of(obj, *keys).items() if isinstance(name, str) and isinstance(text, str)}


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


def named_as(subject: Subject, obj: Object) -> tuple[Claim, ...]:
    """Return the claim of the pods that carry that kind, and the name of the object."""
    return (Claim(title(subject.word, str(obj["metadata"]["name"]))),)


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
    members: str
    """For the page: how the members get their ranks."""
    claimed: Callable[[Object], tuple[Claim, ...]] | None = None
    """Claims of an object; None: the pods that carry its own kind and name."""
    level: int = 1
    """Kinds of a lower level are outer: an object whose controller is one of them is a part of that."""
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

    def claims(self, obj: Object) -> tuple[Claim, ...]:
        """Return the pods that are the object's."""
        return self.claimed(obj) if self.claimed else named_as(self.subject, obj)


def refused(record: Record, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the own status of an object whose spec cannot be planned: the condition Failed has the reason."""
    failed = {
        "type": "Failed",
        "status": "True",
        "reason": record.reason,
        "message": record.message,
        "lastTransitionTime": whole_time(record.updated_at),
    }
    others = [each for each in before.get("conditions") or () if each.get("type") != "Failed"]
    return {**before, "conditions": [*others, failed]}


@dataclass(frozen=True, slots=True)
class RunKind:
    """One kind.

    ``manager`` is the field of an object that names its manager, and ``unmanaged`` is True if Muster runs one without
    it. ``parse(object, file, node)`` reads an object from the API server or from a file, and raises ``SpecError``.
    ``plan_of`` raises ``SpecError`` or ``PlanError``. ``status_of(plan, record, view, before)`` is the kind's own
    status, without the record; ``before`` is the one that is persisted, from which conditions keep the time of their
    last change; the time of this write is ``record.updated_at``. ``with_sizes`` is an object that can be planned, with
    other numbers of pods. ``ended`` are the conditions after which such an object never runs again: one that has them
    and no record ended before Muster was installed.
    """

    subject: Subject
    manager: tuple[str, ...]
    parse: Callable[[Object, str, Node | None], object]
    plan_of: Callable[[Object], Plan]
    status_of: Callable[[Plan, Record, View, Mapping[str, Any]], dict[str, Any]]
    with_sizes: Callable[[Object, Sequence[GroupSize]], Object]
    install: str
    """Advice for an API server that does not serve the kind."""
    unmanaged: bool = False
    by_phase: bool = False
    """True if the phase of its pods decides how they ended, as for the Job controller."""
    traps: Callable[[Node, str], tuple[Problem, ...]] = lambda _node, _file: ()
    """Warnings about an object in a file that is valid and does not do what its author expects."""
    ended: frozenset[str] = frozenset()
    refused: Callable[[Record, Mapping[str, Any]], dict[str, Any]] = refused

    def ours(self, obj: Object) -> bool:
        """Return True if an object is Muster's to run, from the object alone."""
        value = part_of(obj, *self.manager[:-1]).get(self.manager[-1])
        return value == MANAGED_BY or (self.unmanaged and value in (None, ""))

    def over(self, status: object) -> bool:
        """Return True if a status without a record shows that the object has ended."""
        conditions = map(part_of, list_of(status, "conditions"))
        return any(each.get("status") == "True" and str(each.get("type")) in self.ended for each in conditions)


def plan_as_begun(kind: RunKind, obj: Object, known: Plan | None, record: Record | None) -> Plan:
    """Return the plan of the object; ``known`` is the one so far. Raises ``SpecError`` or ``PlanError``.

    An object that is edited while it runs keeps the numbers of pods that the run was begun with, which the record
    holds: other members would count as lost. New numbers hold when it was suspended and is resumed. Everything else is
    as in the object now.
    """
    plan = kind.plan_of(obj)
    if record is None or record.finished or record.phase is Phase.SUSPENDED or record.groups in ((), plan.edits.sizes):
        return plan
    field = f"spec.{plan.edits.shape.partition('=')[0]}"
    begun, named = [each.name for each in record.groups], [each.name for each in plan.edits.sizes]
    if begun == named:
        known = kind.plan_of(kind.with_sizes(obj, record.groups))
    elif known is None and plan.lifecycle.suspend:  # its pods go, whatever the names of their groups
        return plan
    elif known is None:
        was, now = ", ".join(begun), ", ".join(named)
        raise PlanError(f"{field}: the run was begun with {was}, and these are {now}; write the former, or suspend it")
    return replace(
        plan,
        groups=known.groups,
        coordinator=known.coordinator,
        edits=replace(plan.edits, sizes=record.groups, waits=field),
    )
