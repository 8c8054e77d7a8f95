"""The foreign kinds that Muster runs, one row each. Nothing else in the daemon asks which kind an object is of."""

from typing import Final

from muster.state.foreign.foreign_kind import ForeignKind

SUBJECTS: Final[dict[str, ForeignKind]] = {}
"""By kind."""
