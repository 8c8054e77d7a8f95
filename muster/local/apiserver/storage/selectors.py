"""Label and field selectors: parsed once per request, then evaluated for each object.

Grammar and semantics (also for missing labels) are those of apimachinery pkg/labels/selector.go.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.local.apiserver.errors import bad_request
from muster.local.apiserver.storage.stored_objects import StoredObject

_COMMA = re.compile(r",(?![^()]*\))")
"""A comma that is not in the parentheses of a set."""
_KEY = r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_SET = re.compile(rf"\s*({_KEY})\s+(in|notin)\s*\(([^()]*)\)\s*")
_EXISTS = re.compile(rf"\s*(!?)\s*({_KEY})\s*")
_FIELD = re.compile(r"\s*([^=!\s]+)\s*(!=|==|=)\s*(.*)", re.DOTALL)
_COMPARE = re.compile(rf"\s*({_KEY})\s*(==|!=|=)\s*({_VALUE})\s*")


@dataclass(frozen=True, slots=True)
class SelectorRequirement:
    """One condition on one key."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return True if it holds for these labels. As in Kubernetes, `!=` and `notin` hold if the key is missing."""
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case "in":
                return value is not None and value in self.values
        return value is None or value not in self.values


def _requirement(part: str, whole: str) -> SelectorRequirement:
    if found := _SET.fullmatch(part):
        return SelectorRequirement(found[1], found[3], frozenset(v.strip() for v in found[4].split(",")))
    if found := _EXISTS.fullmatch(part):
        return SelectorRequirement(found[2], "absent" if found[1] else "exists", frozenset())
    if found := _COMPARE.fullmatch(part):
        return SelectorRequirement(found[1], "notin" if found[3] == "!=" else "in", frozenset((found[4],)))
    raise bad_request(
        f"unable to parse requirement {part.strip()!r} of label selector {whole!r}; "
        "write key=value, key!=value, key in (a,b), key notin (a,b), key or !key"
    )


def parse_labels(text: str) -> tuple[SelectorRequirement, ...]:
    """Parse a labelSelector; ApiError 400 if it is invalid."""
    return tuple(_requirement(part, text) for part in _COMMA.split(text)) if text.strip() else ()


def parse_fields(text: str, selectable: Sequence[str]) -> tuple[SelectorRequirement, ...]:
    """Parse a fieldSelector; ApiError 400 for a field that is not in `selectable`."""
    found: list[SelectorRequirement] = []
    for part in text.split(","):
        if not part.strip():
            continue
        compared = _FIELD.fullmatch(part)
        if compared is None:
            raise bad_request(f"invalid field selector {part!r}; write field=value or field!=value")
        key, sign, value = compared.groups()
        operator = "notin" if sign == "!=" else "in"
        if key not in selectable:
            raise bad_request(f'"{key}" is not a known field selector: only {", ".join(selectable)}')
        found.append(SelectorRequirement(key, operator, frozenset((value.strip(),))))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Selector:
    """Namespace, labels and fields that limit a list or watch; the empty selector matches everything."""

    namespace: str = ""
    labels: tuple[SelectorRequirement, ...] = ()
    fields: tuple[SelectorRequirement, ...] = ()

    def selects(self, stored: StoredObject) -> bool:
        """Return True if the selector matches an object."""
        if self.namespace and stored.namespace != self.namespace:
            return False
        return all(want.holds(stored.labels) for want in self.labels) and all(
            want.holds(stored.fields) for want in self.fields
        )
