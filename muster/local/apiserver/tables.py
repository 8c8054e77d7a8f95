"""meta.k8s.io/v1 Tables: what `kubectl get` prints is made by the server.

A kind has the columns NAME and AGE, and one that a CRD defines has those of its CRD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from muster.api.values import humanize as ages
from muster.api.values.timestamps import seconds_of
from muster.local.apiserver.kinds.resources import Resource, converted
from muster.local.apiserver.storage.stored_objects import StoredObject, encode, value_at

Json = dict[str, Any]

_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(-?\d{1,9})\]")


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `cell` computes its value from an object and the current time. Priority 1 is shown with -o wide."""

    name: str
    cell: Callable[[Json, float], Any]
    kind: str = "string"
    priority: int = 0
    format: str = ""


def age(value: Any, now: float) -> str:
    """The time since an RFC 3339 timestamp, as kubectl shows ages."""
    if not isinstance(value, str) or not value:
        return "<unknown>"
    then = seconds_of(value)
    if not then or then - now >= 2:  # HumanDuration, too, shows a future time as invalid
        return "<invalid>"
    return ages.age(max(now - then, 0.0))


NAME = Column("Name", lambda obj, _now: obj["metadata"].get("name", ""), format="name")
AGE = Column("Age", lambda obj, now: age(value_at(obj, "metadata.creationTimestamp"), now))


def value_of(path: str) -> Callable[[Json], Any]:
    """What finds the value at a path such as `.status.conditions[-1].type`, None where there is none.

    Raises ValueError for a path of other steps than names and indices.
    """
    steps = [name or int(index) for name, index in _STEP.findall(path)]
    if not re.fullmatch(rf"(?:{_STEP.pattern})+", path):
        raise ValueError(f"{path!r} is not supported; write names and indices, such as .status.conditions[-1].type")

    def find(obj: Json) -> Any:
        value: Any = obj
        for step in steps:
            if not isinstance(value, dict if isinstance(step, str) else list):
                return None
            try:
                value = value[step]
            except LookupError:
                return None
        return value

    return find


def _custom_cell(declared: Json) -> Callable[[Json, float], Any]:
    find = value_of(str(declared.get("jsonPath", "")))
    kind = declared.get("type")

    def cell(obj: Json, now: float) -> Any:
        value = find(obj)
        if value is None:
            return None
        if kind == "date":
            return age(value, now)
        if kind in ("integer", "number", "boolean"):
            return value if isinstance(value, bool | int | float) else None
        return value if isinstance(value, str) else encode(value).decode()

    return cell


def columns_of(resource: Resource) -> tuple[Column, ...]:
    """The columns of a resource."""
    if resource.custom is None or not resource.custom.columns:
        return (NAME, AGE)
    return (
        NAME,
        *(
            Column(
                str(declared.get("name", "")),
                _custom_cell(declared),
                str(declared.get("type", "string")),
                int(declared.get("priority") or 0),
                str(declared.get("format") or ""),
            )
            for declared in resource.custom.columns
        ),
    )


class TableBuilder:
    """Builds the Tables of one response. In a watch, only the first Table has the column definitions.

    A row holds the metadata of its object, with `whole` all of it. `now` returns the time that ages refer to.
    """

    def __init__(self, now: Callable[[], float], *, whole: bool = False) -> None:
        self._whole = whole
        self._now = now
        self._defined = False

    def table(self, resource: Resource, items: Iterable[StoredObject], metadata: Json | None = None) -> Json:
        """A Table of objects."""
        columns = columns_of(resource)
        now = self._now()
        rows = []
        for stored in items:
            obj = converted(resource, stored)
            cells = [column.cell(obj, now) for column in columns]
            rows.append({"cells": cells, "object": obj if self._whole else _partial(obj)})
        return self._wrap(columns, rows, metadata or {})

    def bookmark(self, resource: Resource, mark: Json) -> Json:
        """A bookmark in a watch of Tables: one row without cells."""
        return self._wrap(columns_of(resource), [{"cells": [], "object": _partial(mark)}], {})

    def _wrap(self, columns: tuple[Column, ...], rows: list[Json], metadata: Json) -> Json:
        definitions: list[Json] | None = None
        if not self._defined:
            definitions = [
                {
                    "name": column.name,
                    "type": column.kind,
                    "format": column.format,
                    "description": column.name,
                    "priority": column.priority,
                }
                for column in columns
            ]
            self._defined = True
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": rows,
        }


def _partial(obj: Json) -> Json:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
