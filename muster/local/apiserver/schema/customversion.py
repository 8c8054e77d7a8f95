"""One served version of a custom resource, as its CustomResourceDefinition describes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muster.local.apiserver.http.failure import Cause

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CustomVersion:
    """`schema` is the structural schema; `rules` judges CEL rules against an old state (None on create)."""

    schema: Json
    columns: tuple[Json, ...]
    selectable: tuple[str, ...]
    crd_name: str
    check: Callable[[Json], list[Cause]]
    rules: Callable[[Json, Json | None], list[Cause]]
