"""Reads an object of a kind that Muster runs, beside Experiments: from the API server, or from a file."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

from pydantic import ValidationError

from muster.api.manifest.error_text import Loc, explain, position
from muster.api.manifest.problems import Problem, SpecError, bounded, path
from muster.api.manifest.yaml.reader import Node
from muster.api.values.fields import Stored
from muster.kinds.declaration import list_of, part_of, texts_of
from muster.kinds.planning.parts import FOREGROUND, ORPHAN
from muster.state.vocabulary.plan_parts import Lifecycle

S = TypeVar("S", bound=Stored)
Found = tuple[Loc, str, str]
"""A problem: its place, the error, and the next step."""
MAX_NAME: Final = 63


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


def too_long(loc: Loc, longest: str, named: str) -> tuple[Found, ...]:
    """Return a problem if the longest pod name, ``longest``, is too long for Kubernetes; ``named`` is what to cut."""
    over = len(longest) - MAX_NAME
    text = f"the longest pod name, {longest}, has {len(longest)} characters, Kubernetes allows {MAX_NAME}"
    return ((loc, text, f"cut {over} character{'s' if over > 1 else ''} from the name{named}"),) if over > 0 else ()


def digest(value: object) -> str:
    """Return a short digest of what may not be edited while an object runs."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:4]
