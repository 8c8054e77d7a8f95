"""Facts of any watched object, whatever its kind: its conditions, its annotations, and the identity of its plan.

Annotations of a watched object (of labelled pods: of any pod of the set):

``muster.dev/operator``            the framework: jax, pytorch, xgboost, kuberay or none
``muster.dev/probe``               how the coordinator is asked: jax, torch, tcp, http, grpc or none; follows from the
                                   framework
``muster.dev/coordinator-port``    the port it is asked at
``muster.dev/probe-path``          the path that an http probe asks for; / without it
``muster.dev/<clock>-deadline``    a duration such as ``1h30m``, for the clocks total, pending, starting, assembly, run
``muster.dev/on-deadline``         suspend or delete: what is done with the object then; without it, an alert

Of labelled pods there are ``muster.dev/size`` (how many they are) and, on each, ``muster.dev/rank`` besides.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import msgspec

from muster.api.names import JAX_PORT, PYTORCH_PORT
from muster.api.values.durations import DurationError, parse_duration
from muster.api.values.printable import MESSAGE, clean, word
from muster.api.values.secrets import without_credentials
from muster.api.values.timestamps import seconds_of
from muster.kinds.declaration import PlanError, WatchedKind, list_of, part_of, texts_of
from muster.kinds.planning.parts import local_queue_of
from muster.state.view.own import OwnState, OwnVerdict, Remark
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind
from muster.state.vocabulary.plan import Engine, Plan
from muster.state.vocabulary.plan_parts import Failures, Lifecycle, Naming, Watching
from muster.state.vocabulary.rules import CLOCKS, ClockAction, ClockName, ClockRule
from muster.state.vocabulary.subject import Names, Subject

MAX_MESSAGE = 512
"""Characters of another controller's message that are kept."""
MOST_CONDITIONS = 64
"""Conditions that are looked at; the kinds here have fewer than eight."""
S = TypeVar("S", bound=msgspec.Struct)


def read(obj: Mapping[str, Any], shape: type[S]) -> S:
    """Return the part of the spec that ``shape`` has. Raises ``PlanError``; unknown fields are left out."""
    try:
        return msgspec.convert(obj.get("spec") or {}, shape)
    except msgspec.ValidationError as error:
        raise PlanError(f"spec: {clean(str(error), MESSAGE)}") from error


def conditions_of(obj: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the conditions in the status."""
    yield from map(part_of, list_of(obj, "status", "conditions")[:MOST_CONDITIONS])


def condition_of(obj: Mapping[str, Any], kind: str) -> Mapping[str, str] | None:
    """Return the texts in the condition of that type, if it is True."""
    true = (each for each in conditions_of(obj) if each.get("type") == kind and each.get("status") == "True")
    return next(map(texts_of, true), None)


def state_by_conditions(
    done: str, obj: Mapping[str, Any], *, epoch: int = 0, within: tuple[str, ...] = ("spec",), suspended: str = ""
) -> OwnState:
    """Return the state that the conditions of an object show: ``done`` is the type of the one for success.

    It has ended when that condition, or Failed, became true. The condition Suspended shows a suspension; of a kind with
    a reason ``suspended`` its own field ``suspend`` does, which is ``within`` that part of it.
    """
    state = OwnState(epoch=epoch, started_at=started_of(obj))
    verdicts = {done: OwnVerdict.SUCCEEDED, "Failed": OwnVerdict.FAILED}
    for kind, verdict in (verdicts if suspended else {**verdicts, "Suspended": OwnVerdict.SUSPENDED}).items():
        if (found := condition_of(obj, kind)) is not None:
            at = (seconds_of(found.get("lastTransitionTime", "")) or None) if verdict.over else None
            reason, message = word(found.get("reason", "")), clean(found.get("message", ""), MAX_MESSAGE)
            return msgspec.structs.replace(state, verdict=verdict, reason=reason, message=message, finished_at=at)
    if suspended and part_of(obj, *within).get("suspend") is True:
        return msgspec.structs.replace(state, verdict=OwnVerdict.SUSPENDED, reason=suspended)
    return state


def started_of(obj: Mapping[str, Any]) -> float | None:
    """Return ``status.startTime``, else the last resumption, else the creation; None where none is known."""
    times = [part_of(obj, "status").get("startTime")]
    resumed = (each for each in conditions_of(obj) if (each.get("type"), each.get("status")) == ("Suspended", "False"))
    times += [each.get("lastTransitionTime") for each in resumed]
    times.append(part_of(obj, "metadata").get("creationTimestamp"))
    return next((at for each in times if isinstance(each, str) and (at := seconds_of(each))), None)


def number_of(obj: Mapping[str, Any], name: str) -> int:
    """Return a counter in the status; 0 where there is none."""
    found = part_of(obj, "status").get(name)
    return found if type(found) is int and found >= 0 else 0


_TROUBLE: Final = re.compile(r"(?i:fail|error|invalid|forbidden|denied|exceed|unschedulable|insufficient|refused)")
LONGEST_NAME: Final = 253


def state_of(kind: WatchedKind, obj: Mapping[str, Any]) -> OwnState:
    """Return the state of the object as its kind reads it, with its newest complaint."""
    state = kind.own_state(obj)
    return state if state.verdict is not OwnVerdict.NOTHING else msgspec.structs.replace(state, remark=complaint(obj))


def complaint(obj: Mapping[str, Any]) -> Remark | None:
    """Return the newest condition that complains: a remark and no verdict, which the kind's own reader gives.

    A condition complains where it is True and its type names a trouble (``ReplicaFailure``), or False and its reason
    does (``Created`` is False: ``JobsBuildFailed``).
    """
    return max(filter(None, map(_complaint, conditions_of(obj))), key=lambda each: each.at, default=None)


def _complaint(condition: Mapping[str, Any]) -> Remark | None:
    kind, status, reason = (condition.get(name) for name in ("type", "status", "reason"))
    if not isinstance(kind, str) or not isinstance(reason, str):
        return None
    trouble = bool(_TROUBLE.search(kind[:LONGEST_NAME]))
    untrue = status == "False" and not trouble and bool(_TROUBLE.search(reason[:LONGEST_NAME]))
    if not (untrue or (trouble and status == "True")):
        return None
    message, at = condition.get("message"), condition.get("lastTransitionTime")
    words = without_credentials(clean(message, MAX_MESSAGE)) if isinstance(message, str) else ""
    return Remark(reason=word(reason or kind), message=words, at=seconds_of(at) if isinstance(at, str) else 0.0)


PREFIX: Final = "muster.dev/"
OPERATOR: Final = f"{PREFIX}operator"
PROBE: Final = f"{PREFIX}probe"
PORT: Final = f"{PREFIX}coordinator-port"
PATH: Final = f"{PREFIX}probe-path"
ON_DEADLINE: Final = f"{PREFIX}on-deadline"
CLOCKS_ASKED: Final = (ClockName.TOTAL, ClockName.PENDING, ClockName.STARTING, ClockName.ASSEMBLY, ClockName.RUN)
PROBES: Final = (ProbeKind.JAX, ProbeKind.TORCH, ProbeKind.TCP, ProbeKind.HTTP, ProbeKind.GRPC, ProbeKind.NONE)
LONGEST_PATH: Final = 200
_PATH: Final = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*\Z")
"""Characters that a URL may have after its host, without a fragment (RFC 3986)."""
MOST_FINALIZERS: Final = 16
"""Finalizers that are looked at."""
MAX_PORT: Final = 65_535
MOST: Final = 100_000
"""Members of a watched run: more are refused."""


@dataclass(frozen=True, slots=True)
class Framework:
    """The framework of the pods: ``operator`` is its name, ``port`` that of the coordinator (0: it has none)."""

    operator: str = "none"
    probe: ProbeKind = ProbeKind.NONE
    port: int = 0
    path: str = ""

    def of_members(self, size: int) -> "Framework":
        """Return the framework for that size: a single member waits for no other, and only a stated probe asks it."""
        return self if size > 1 or self.probe.stated else replace(self, probe=ProbeKind.NONE)

    @property
    def coordinator(self) -> Coordinator | None:
        """Return rank 0, at which the others meet; None if there is none to be asked."""
        if not self.port:
            return None
        return Coordinator(0, self.port, self.probe, path=self.path, may_close=self.probe is ProbeKind.TORCH)


FRAMEWORKS: Final[Mapping[str, Framework]] = {
    each.operator: each
    for each in (
        Framework("jax", ProbeKind.JAX, JAX_PORT),
        Framework("pytorch", ProbeKind.TORCH, PYTORCH_PORT),
        *map(Framework, ("xgboost", "kuberay", "none")),
    )
}
"""By operator, the probe and port if no annotation states others."""


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the annotations of an object that are texts."""
    return texts_of(obj, "metadata", "annotations")


def framework_of(obj: Mapping[str, Any], default: Framework) -> Framework:
    """Return the framework that the annotations name, else ``default``. Raises ``PlanError``."""
    asked = annotations_of(obj)
    found = default
    if (name := asked.get(OPERATOR)) is not None:
        if name not in FRAMEWORKS:
            raise PlanError(f"annotation {OPERATOR}: {word(name)!r} is not one of {', '.join(FRAMEWORKS)}")
        found = default if name == default.operator else FRAMEWORKS[name]
    if (name := asked.get(PROBE)) is not None:
        if name not in PROBES:
            raise PlanError(f"annotation {PROBE}: {word(name)!r} is not one of {', '.join(PROBES)}")
        found = replace(found, probe=ProbeKind(name))
    if (text := asked.get(PORT)) is not None:
        found = replace(found, port=whole(PORT, text, 1, MAX_PORT))
    if (text := asked.get(PATH)) is not None:
        found = replace(found, path=_path(found.probe, text))
    if not found.probe.passive and not found.port:
        raise PlanError(f"annotation {PROBE}: the probe {found.probe} needs a port; add the annotation {PORT}")
    return found


def _path(probe: ProbeKind, text: str) -> str:
    if probe is not ProbeKind.HTTP:
        raise PlanError(f"annotation {PATH}: only the probe http has a path; add the annotation {PROBE}: http")
    if len(text) > LONGEST_PATH or not _PATH.match(text):
        most = f"at most {LONGEST_PATH} characters of a URL"
        raise PlanError(f"annotation {PATH}: {word(text)!r} is not a path: it begins with / and has {most}")
    return text


def whole(name: str, text: str, least: int, most: int) -> int:
    """Return the whole number in an annotation. Raises ``PlanError``."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if not least <= number <= most:
        raise PlanError(f"annotation {name}: {word(text)!r} is not a whole number from {least} to {most}")
    return number


def clocks_of(obj: Mapping[str, Any]) -> tuple[ClockRule, ...]:
    """Return the deadlines that the annotations ask for. Raises ``PlanError``."""
    asked = annotations_of(obj)
    action = asked.get(ON_DEADLINE)
    if action not in (None, "suspend", "delete"):
        raise PlanError(f"annotation {ON_DEADLINE}: {word(action)!r} is not one of suspend, delete")
    rows = []
    for row in CLOCKS:
        text = asked.get(f"{PREFIX}{row.name}-deadline") if row.name in CLOCKS_ASKED else None
        if text is not None:
            try:
                after = parse_duration(text)
            except DurationError as error:
                raise PlanError(f"annotation {PREFIX}{row.name}-deadline: {error}") from error
            sentence = row.sentence.replace("the experiment", "the run")
            ends = ClockAction.FAIL if action else ClockAction.ALERT
            rows.append(replace(row, after=float(after), action=ends, sentence=sentence))
    return tuple(rows)


def ranked(groups: Iterable[Group]) -> Iterator[Group]:
    """Yield the groups, each with its first rank: the members are numbered in this order."""
    rank = 0
    for each in groups:
        yield replace(each, first_rank=rank)
        rank += each.size


def watched_plan(
    obj: Mapping[str, Any],
    subject: Subject,
    groups: Iterable[Group],
    *,
    framework: Framework,
    coordinator: Coordinator | None = None,
    names: Names = Names.WATCHED,
    subdomain: str = "",
    suspend: bool = False,
    in_order: bool = False,
    notice: str = "",
    submits_as: str = "",
) -> Plan:
    """Return the plan of a watched object. Raises ``PlanError``.

    Without a ``coordinator`` rank 0 is it, if the framework has one. The members are numbered in the order of the
    groups.
    """
    metadata, groups = part_of(obj, "metadata"), tuple(ranked(groups))
    size = sum(group.size for group in groups)
    if size > MOST:
        raise PlanError(f"it asks for {size} pods, and at most {MOST} are watched over")
    if coordinator is None:
        coordinator = framework.of_members(size).coordinator
    generation, finalizers = metadata.get("generation"), list_of(metadata, "finalizers")[:MOST_FINALIZERS]
    return Plan(
        uid=str(metadata.get("uid") or ""),
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        generation=generation if type(generation) is int else 0,
        operator=framework.operator,
        subject=subject,
        groups=groups,
        coordinator=coordinator,
        clocks=clocks_of(obj),
        engine=Engine.WATCH,
        in_order=in_order,
        notice=notice,
        naming=Naming(names=names, subdomain=subdomain, submits_as=submits_as),
        failures=Failures(rules=()),
        watching=Watching(
            on_deadline=annotations_of(obj).get(ON_DEADLINE, ""),
            local_queue=local_queue_of(metadata.get("labels")),
            deleted_at=_deleted_at(metadata),
            finalizers=tuple(each for each in finalizers if isinstance(each, str)),
        ),
        lifecycle=Lifecycle(suspend=suspend, deleting=metadata.get("deletionTimestamp") is not None),
    )


def _deleted_at(metadata: Mapping[str, Any]) -> float | None:
    found = metadata.get("deletionTimestamp")
    return (seconds_of(found) or None) if isinstance(found, str) else None
