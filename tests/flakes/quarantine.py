"""The tests in quarantine: see quarantine.toml."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

FILE = Path(__file__).parent / "quarantine.toml"
LONGEST = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A test that reports and does not block, since when, and why."""

    id: str
    since: date
    reason: str


def load(file: Path = FILE) -> tuple[Quarantined, ...]:
    """The entries. Raises TypeError for one that has not exactly these fields."""
    return tuple(Quarantined(**each) for each in tomllib.loads(file.read_text(encoding="utf-8")).get("test", []))


def overdue(entries: Iterable[Quarantined], today: date) -> list[str]:
    """A sentence for each entry that is too old."""
    return [
        f"{each.id} is in quarantine since {each.since}, longer than {LONGEST.days} days ({each.reason}): mend it, or "
        "drop its claim"
        for each in entries
        if today - each.since > LONGEST
    ]
