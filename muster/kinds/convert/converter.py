"""What a declaration says of a manifest of another controller: how it becomes an Experiment."""

from collections.abc import Callable
from dataclasses import dataclass

from muster.kinds.convert.draft import Draft
from muster.kinds.convert.source import Fields


@dataclass(frozen=True, slots=True)
class Converter:
    """A kind of manifest that is converted. ``write`` writes the draft from the fields, in the version that is read."""

    kind: str
    api_version: str
    write: Callable[[Draft, Fields], None]
