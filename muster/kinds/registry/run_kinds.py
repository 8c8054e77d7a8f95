"""The kinds that Muster runs beside Experiments. Nothing else in the daemon asks which kind an object is of."""

from collections.abc import Mapping, Set
from typing import Any, Final

from muster.api.declared import declared
from muster.kinds.declaration.run_kind import RunKind

RUN_KINDS: Final[dict[str, RunKind]] = {each.subject.kind: each for each in declared("run", RunKind)}
"""By kind."""


def runs(plurals: Set[str], kind: str, obj: Mapping[str, Any]) -> bool:
    """Return True if Muster runs that object: its kind is among those of ``plurals``, and the object names Muster."""
    own = RUN_KINDS.get(kind)
    return own is not None and own.subject.plural in plurals and own.ours(obj)
