"""meta.k8s.io/v1 Tables: what `kubectl get` prints is made by the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from muster.local.apiserver.http.representation import converted, partial
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.stored_objects import StoredObject, encode
from muster.local.apiserver.tables.columns import AGE, BUILT_IN, DEFAULT, NAME, Column, age
from muster.local.apiserver.tables.jsonpath import compile_path

Json = dict[str, Any]


def _custom_cell(declared: Json) -> Callable[[Json, float], Any]:
    path = compile_path(str(declared.get("jsonPath", "")))
    kind = declared.get("type")

    def cell(obj: Json, now: float) -> Any:
        found = path(obj)
        if not found:
            return None
        value = found[0]
        if kind == "date":
            return age(value, now)
        if kind in ("integer", "number", "boolean"):
            return value if isinstance(value, bool | int | float) else None
        if len(found) > 1 or isinstance(value, dict | list):
            return ",".join(v if isinstance(v, str) else encode(v).decode() for v in found)
        return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)

    return cell


def columns_of(resource: Resource) -> tuple[Column, ...]:
    """The columns of a resource."""
    if resource.custom is None:
        return BUILT_IN.get(resource.kind, DEFAULT)
    if not resource.custom.columns:
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

    `include` is what a row holds of its object: Metadata, Object or None. `now` returns the time that ages refer to.
    """

    def __init__(self, include: str, now: Callable[[], float]) -> None:
        self._include = include
        self._now = now
        self._defined = False

    def table(self, resource: Resource, items: Iterable[StoredObject], metadata: Json | None = None) -> Json:
        """A Table of objects."""
        columns = columns_of(resource)
        now = self._now()
        rows = []
        for stored in items:
            obj = converted(resource, stored)
            row: Json = {"cells": [column.cell(obj, now) for column in columns]}
            if self._include == "Object":
                row["object"] = obj
            elif self._include != "None":
                row["object"] = partial(obj)
            rows.append(row)
        return self._wrap(columns, rows, metadata or {})

    def bookmark(self, resource: Resource, mark: Json) -> Json:
        """A bookmark in a watch of Tables: one row without cells."""
        return self._wrap(columns_of(resource), [{"cells": [], "object": partial(mark)}], {})

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
