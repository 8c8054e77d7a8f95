"""Jobs of Kubeflow's training operator (kubeflow.org/v1, v1.9.4) and MPI operator: the common part of watched ones.

A job has replica specs by type, each with a number and a pod template, and one run policy. Its pods bear the job's name
and their index within their type. A pod that ends is started again in place or replaced by one of the same name; the
others are not. So a job has one epoch. ``activeDeadlineSeconds`` is checked there only when something else changes; a
deadline of Muster holds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgspec

from muster.api.values.printable import small_number, word
from muster.kinds.declaration import SUBMITTED, Place, PlanError, PodFacts, PodSource, WatchedKind, part_of
from muster.kinds.planning.watched_plan import MOST, Framework, framework_of, read, state_by_conditions, watched_plan
from muster.state.view.own import OwnState
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.subject import Names, Subject

API_VERSION: Final = "kubeflow.org/v1"
PREFIX: Final = "training.kubeflow.org/"
LABEL: Final = f"{PREFIX}job-name"
INDEX: Final = f"{PREFIX}replica-index"
TYPE: Final = f"{PREFIX}replica-type"
ONE: Final[Mapping[str, int]] = {}
"""A type without a number has one pod."""
SUSPEND: Final[Mapping[str, Any]] = {"spec": {"runPolicy": {"suspend": True}}}


class _Port(msgspec.Struct, frozen=True):
    name: str | None = None
    containerPort: int = 0  # noqa: N815 - the wire's names


class _Container(msgspec.Struct, frozen=True):
    name: str | None = None
    ports: list[_Port] | None = None


class _PodSpec(msgspec.Struct, frozen=True):
    containers: list[_Container] | None = None


class _Template(msgspec.Struct, frozen=True):
    spec: _PodSpec | None = None


class Replicas(msgspec.Struct, frozen=True):
    """The pods of one type."""

    replicas: int | None = None
    template: _Template | None = None

    def port(self, container: str, name: str, default: int) -> int:
        """Return the port of that name of the member's own container."""
        spec = self.template.spec if self.template else None
        for each in (spec.containers if spec else None) or ():
            for port in each.ports or () if each.name == container else ():
                if port.name == name and 0 < port.containerPort < 65_536:
                    return port.containerPort
        return default


class _RunPolicy(msgspec.Struct, frozen=True):
    suspend: bool | None = None


class _Job(msgspec.Struct, frozen=True):
    runPolicy: _RunPolicy | None = None  # noqa: N815


def replicas_of(obj: Mapping[str, Any], field: str, types: Iterable[str]) -> dict[str, Replicas]:
    """Return the replica specs of these types in their order, by the type in lower case. Raises ``PlanError``.

    A type may be written in any case, and others are left out.
    """
    found = part_of(obj, "spec").get(field)
    if not isinstance(found, Mapping):
        raise PlanError(f"spec.{field}: a mapping is expected")
    named = {str(name).lower(): read({"spec": replicas}, Replicas) for name, replicas in found.items()}
    return {name: named[name] for name in types if name in named}


def groups_of(field: str, replicas: Mapping[str, Replicas], absent: Mapping[str, int] = ONE) -> Iterator[Group]:
    """Yield a group of each type, in rank order; ``absent`` has sizes for those without. Raises ``PlanError``."""
    for name, each in replicas.items():
        size = absent.get(name, 1) if each.replicas is None else max(0, each.replicas)
        if size > MOST:
            raise PlanError(f"spec.{field}: more than {MOST} pods of the type {name}")
        yield Group(name, 1, size, PodSpec(), 0)


def job_plan(obj: Mapping[str, Any], subject: Subject, groups: Iterable[Group], known: Framework) -> Plan:
    """Return the plan of a job of these groups; ``known`` is the framework of its kind. Raises ``PlanError``."""
    framework, policy = framework_of(obj, known), read(obj, _Job).runPolicy
    suspend = bool(policy and policy.suspend)
    return watched_plan(obj, subject, groups, framework=framework, names=Names.KUBEFLOW, suspend=suspend)


def place_in(subject: Subject, types: frozenset[str]) -> Callable[[PodFacts], Place | None]:
    """Return the function that gives the place of a pod of that kind. Pods of the operator's other kinds have none."""
    kind, only = subject.kind.lower(), next(iter(types))

    def place_of(pod: PodFacts) -> Place | None:
        name = pod.labels.get(LABEL)
        if not name or pod.kind != subject.kind:
            return None
        group = word(pod.labels.get(TYPE) or "").lower() if len(types) > 1 else only
        if group not in types:
            return None
        return Place(f"{kind}/{word(name)}", group, 0, small_number(pod.labels.get(INDEX)), uid=word(pod.owner_uid))

    return place_of


def state_in(subject: Subject) -> Callable[[Mapping[str, Any]], OwnState]:
    """Return the function that reads the conditions of an object of that kind."""
    return partial(state_by_conditions, "Succeeded", within=("spec", "runPolicy"), suspended=f"{subject.kind}Suspended")


def training_kind(
    subject: Subject, field: str, types: tuple[str, ...], known: Framework, *, about: str, members: str
) -> WatchedKind:
    """Return a kind of the training operator: ``field`` of its spec has the replica specs, by these types.

    The pods meet at the first one of the first type: at the port ``<kind>-port`` of its container with the framework's
    name, else at that of ``known``. Without a pod of that type they meet nowhere.
    """
    words = [each.capitalize() for each in types]
    absent = f"neither {' nor '.join(words)}" if len(words) > 1 else f"no {words[0]}"

    def plan_of(obj: Mapping[str, Any]) -> Plan:
        replicas = replicas_of(obj, field, types)
        if not replicas:
            raise PlanError(f"spec.{field}: {absent}")
        framework = Framework(known.operator)
        if first := replicas.get(types[0]):
            framework = replace(known, port=first.port(known.operator, f"{subject.kind.lower()}-port", known.port))
        return job_plan(obj, subject, groups_of(field, replicas), framework)

    return WatchedKind(
        subject,
        (PodSource(subject.plural, LABEL, place_in(subject, frozenset(types))),),
        plan_of,
        state_in(subject),
        about=about,
        members=members,
        makes=("podgroup/{name}",),
        suspend=SUSPEND,
        handed=SUBMITTED,
    )
