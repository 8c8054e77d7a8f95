"""Objects of other kinds that Muster runs: how one is read, and its record, which is a condition in its own status.

The message of the condition ``muster.dev/Record`` is the record as compact JSON, in the form that an Experiment's
status has, without the story (which Events hold). So one PUT of the status, under one resourceVersion, persists the
record and the kind's own status together. It is always the first condition: the columns of ``kubectl get`` show the
last one.

A condition's message has at most 32,768 characters (metav1.Condition). A record that would be longer loses the evidence
of its epochs, the oldest first, then its sentences, and then the last ranks that are done.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

from msgspec.structs import replace
from pydantic import ValidationError

from muster.api.manifest.error_text import Loc, explain, position
from muster.api.manifest.problems import Problem, SpecError, bounded, path
from muster.api.manifest.yaml.reader import Node
from muster.api.values.fields import Stored
from muster.api.values.timestamps import whole_time
from muster.kinds.declaration import list_of, part_of, texts_of
from muster.kinds.planning.parts import FOREGROUND, ORPHAN
from muster.state.vocabulary.plan_parts import Lifecycle
from muster.state.vocabulary.record import Record, StatusError, from_status, to_status

S = TypeVar("S", bound=Stored)
Found = tuple[Loc, str, str]
"""A problem: its place, the error, and the next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunObject(Generic[S]):
    """An object with the metadata that its plan needs. ``MODEL`` is that of its spec."""

    MODEL: ClassVar[type[Stored]]
    spec: S
    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    deleting: bool = False
    finalizers: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls, obj: Mapping[str, Any], checks: Callable[[Self], Iterable[Found]], *, file: str, node: Node | None
    ) -> Self:
        """Return the decoded object. Raises ``SpecError``, and nothing else, with what the model or ``checks`` find.

        ``node`` is the tree of the document that it was read from, for lines and columns; None without a text.
        """
        try:
            spec = cls.MODEL.read(obj.get("spec"))
        except ValidationError as error:
            raise SpecError(bounded(explain(error, cls.MODEL, root=("spec",), file=file, node=node))) from None
        metadata, texts = part_of(obj, "metadata"), texts_of(obj, "metadata")
        made = cls(
            spec=spec,  # type: ignore[arg-type]  # MODEL is S
            name=texts.get("name", ""),
            namespace=texts.get("namespace", ""),
            uid=texts.get("uid", ""),
            generation=metadata["generation"] if type(metadata.get("generation")) is int else 0,
            deleting=metadata.get("deletionTimestamp") is not None,
            finalizers=tuple(map(str, list_of(metadata, "finalizers"))),
            labels=texts_of(metadata, "labels"),
            annotations=texts_of(metadata, "annotations"),
        )
        found = [Problem(file, *position(node, loc), path(loc), message, hint) for loc, message, hint in checks(made)]
        if found:
            raise SpecError(bounded(found))
        return made

    def lifecycle(self, *, suspend: bool, ttl: int | None, keep_ended: bool = True) -> Lifecycle:
        """Return the lifecycle that the object asks for."""
        return Lifecycle(
            suspend=suspend,
            ttl=None if ttl is None else float(ttl),
            keep_ended=keep_ended,
            deleting=self.deleting,
            orphans=ORPHAN in self.finalizers,
            foreground=FOREGROUND in self.finalizers,
        )


TYPE: Final = "muster.dev/Record"
REASON: Final = "Persisted"
MOST: Final = 32_768
"""Characters of a condition's message (metav1.Condition)."""
MOST_CONDITIONS: Final = 256
"""Conditions of an object that are looked at; Kubernetes' own kinds have fewer than 16."""


def with_record(status: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """Return the kind's own status with the record in it."""
    own = [each for each in status.get("conditions") or () if each.get("type") != TYPE]
    return {**status, "conditions": [to_condition(record), *own]}


def to_condition(record: Record) -> dict[str, Any]:
    """Return the condition that holds this record."""
    return {
        "type": TYPE,
        "status": "True",
        "reason": REASON,
        "message": _message(record),
        "lastTransitionTime": whole_time(record.updated_at),
    }


def from_object(status: object) -> Record | None:
    """Return the record in the status of an object of another kind, None where it has none. Raises ``StatusError``."""
    if status is None:
        return None
    if not isinstance(status, Mapping):
        raise StatusError("status: a mapping is expected")
    found = next((each for each in _conditions(status) if each.get("type") == TYPE), None)
    if found is None:
        return None
    message = found.get("message")
    try:
        raw = json.loads(message) if isinstance(message, str) and len(message) <= MOST else None
    except (ValueError, RecursionError) as error:
        raise StatusError(f"condition {TYPE}: its message is not a record: {error}") from error
    if not isinstance(raw, dict) or not raw:
        raise StatusError(f"condition {TYPE}: its message is not a record")
    return from_status(raw)


def without_record(status: object) -> dict[str, Any]:
    """Return the kind's own status as it was persisted, without what is not a condition.

    An empty list of conditions is left out: a kind's own controller writes none, and a status that differs is written.
    """
    if not isinstance(status, Mapping):
        return {}
    own = [dict(each) for each in _conditions(status) if each.get("type") != TYPE]
    others = {key: value for key, value in status.items() if key != "conditions"}
    return {"conditions": own, **others} if own else others


def _conditions(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in list_of(status, "conditions")[:MOST_CONDITIONS] if isinstance(each, Mapping)]


def _message(record: Record) -> str:
    whole = replace(record, story=())
    while len(message := _compact(whole)) > MOST and whole.evidence:
        whole = replace(whole, evidence=whole.evidence[1:])
    if len(message) <= MOST:
        return message
    short = replace(
        whole,
        message="",
        cause=replace(whole.cause, message="", last_line="", evidence="", before="") if whole.cause else None,
        stuck=replace(whole.stuck, evidence="") if whole.stuck else None,
        conditions=tuple(replace(each, message="") for each in whole.conditions),
    )
    while len(message := _compact(short)) > MOST and short.completed:
        short = replace(short, completed=short.completed[: len(short.completed) // 2].rpartition(",")[0])
    return message


def _compact(record: Record) -> str:
    return json.dumps(to_status(record), ensure_ascii=False, separators=(",", ":"))
