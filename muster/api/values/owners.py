"""Labels that name the owner of a run: an allow-list, a setting of the installation.

``team,example.com/cost-center=a1|b2`` reads two labels, the second with the values ``a1`` and ``b2`` only. Each becomes
a label of metrics, named as kube-state-metrics names labels: ``label_team``, ``label_example_com_cost_center``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MOST: Final = 8
"""Labels in the list."""
OTHER: Final = "_other"
"""The value where an object has another one than it may have."""

_KEY: Final = r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_VALUE: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_ONE: Final = rf"{_KEY}(=({_VALUE})(\|({_VALUE}))*)?"
PATTERN: Final = rf"^({_ONE}(,{_ONE})*)?$"
"""The form of the list."""

_VALID: Final = re.compile(_VALUE)

Owners = tuple[tuple[str, str], ...]
"""Owners of one object: names as in metrics, with their values, in the order of the names."""


@dataclass(frozen=True, slots=True)
class OwnerLabel:
    """One label. ``values`` are those that it may have; any where they are empty."""

    key: str
    values: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return its name in metrics."""
        return "label_" + re.sub(r"[^A-Za-z0-9_]", "_", self.key)

    def read(self, value: object) -> str:
        """Return the value, or ``OTHER``. Objects of a CRD without a schema may have any text there."""
        if not isinstance(value, str) or not _VALID.fullmatch(value) or (self.values and value not in self.values):
            return OTHER
        return value


@dataclass(frozen=True, slots=True)
class OwnerLabels:
    """The list."""

    labels: tuple[OwnerLabel, ...] = ()

    @classmethod
    def of_list(cls, text: str) -> "OwnerLabels":
        """Read the setting. Raises ValueError for too many labels, or two that have one name in metrics."""
        found = [each.partition("=") for each in text.split(",") if each]
        labels = tuple(OwnerLabel(key, frozenset(filter(None, values.split("|")))) for key, _, values in found)
        if len(labels) > MOST:
            raise ValueError(f"{len(labels)} labels, and at most {MOST} are read")
        if len({each.name for each in labels}) < len(labels):
            raise ValueError(f"two labels have one name in metrics: {', '.join(each.name for each in labels)}")
        return cls(tuple(sorted(labels, key=lambda each: each.name)))

    @property
    def names(self) -> tuple[str, ...]:
        """Return their names in metrics, in order."""
        return tuple(each.name for each in self.labels)

    def of(self, labels: object) -> Owners:
        """Return the owners by the labels of an object, as they were read from JSON."""
        if not self.labels or not isinstance(labels, Mapping):
            return ()
        return _same(tuple((each.name, each.read(labels[each.key])) for each in self.labels if labels.get(each.key)))


@lru_cache(maxsize=4096)
def _same(found: Owners) -> Owners:
    """Return the one tuple of all runs of an owner."""
    return found


NONE: Final = OwnerLabels()
