"""The retention of finished Experiments that state none themselves: a setting of the installation.

``30d,ci=12h,archive=keep``: 30 days, in the namespace ``ci`` 12 hours, and in ``archive`` until they are deleted.
Without an entry for all namespaces those that have none keep their experiments.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from muster.api.values.durations import PATTERN as DURATION
from muster.api.values.durations import DurationError, format_duration, parse_duration

KEEP: Final = "keep"
"""Word in place of a duration if finished experiments stay."""
MOST: Final = 1024
"""Entries in the list."""
LONGEST: Final = 100_000
"""Characters in the list."""
SHORTEST: Final = 60
"""Seconds. A shorter default would delete an experiment before its end can be read."""


_NAME: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAMESPACE: Final = re.compile(_NAME)
_ENTRY: Final = rf" *({_NAME} *= *)?(keep|{DURATION.strip('^$')}) *"
PATTERN: Final = rf"^({_ENTRY}(,{_ENTRY})*)?$"
"""The form of the list, for the chart. The bounds of each time, and that no namespace is given twice, are not in it."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The list: seconds by namespace, and of all others. None: they stay."""

    usual: int | None = None
    of_namespace: Mapping[str, int | None] = field(default_factory=dict)

    @classmethod
    def of_list(cls, text: str) -> "Retention":
        """Read the setting. Raises ValueError with the entry that is wrong, and what to write instead."""
        if len(text) > LONGEST:
            raise ValueError(f"it has {len(text)} characters, and at most {LONGEST} are read")
        entries = [entry.strip() for entry in text.split(",")] if text.strip() else []
        if len(entries) > MOST:
            raise ValueError(
                f"{len(entries)} entries, and at most {MOST} are read: leave out those that equal the first"
            )
        found: dict[str, int | None] = {}
        for entry in entries:
            name, separator, value = (part.strip() for part in entry.rpartition("="))
            if separator and not _NAMESPACE.fullmatch(name):
                raise ValueError(f"{entry[:80]!r}: {name[:63]!r} is not the name of a namespace")
            seconds = _seconds(entry, value)
            if name in found:
                what = f"namespace {name} is" if name else "the time of all other namespaces is"
                raise ValueError(f"{entry[:80]!r}: {what} given twice; remove one")
            found[name] = seconds
        return cls(found.pop("", None), found)

    def of(self, namespace: str) -> int | None:
        """Return seconds for which finished experiments of a namespace stay; None: until they are deleted."""
        return self.of_namespace.get(namespace, self.usual)


def _seconds(entry: str, value: str) -> int | None:
    if value == KEEP:
        return None
    try:
        seconds = parse_duration(value)
    except DurationError as error:
        raise ValueError(f"{entry[:80]!r}: {error}; or write {KEEP}") from None
    if seconds < SHORTEST:
        raise ValueError(f"{entry[:80]!r}: at least {format_duration(SHORTEST)}, so that the end can be read")
    return seconds


NONE: Final = Retention()
