"""The kinds of values that a pod template holds: fields owned by Muster, and values that the API server checks."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field

from muster.api.manifest.problems import quoted
from muster.api.names import ASSIST_VOLUME, CLAIM_VOLUME, PROGRESS_VOLUME, SCRATCH_VOLUME, SHM_VOLUME
from muster.api.values.fields import LABEL_1123, SCRIPT, TEXT, LabelKey, LabelValue, Wrong, limited, listed

MAX_DEPTH: Final = 24
_INT64: Final = 2**63


def owned(why: str, instead: str) -> Any:
    """Return a field that Muster sets itself: any value is refused, with the reason and what to do instead."""

    def refuse(_value: Any) -> Any:
        raise Wrong(why, instead)

    return BeforeValidator(refuse)


def check_json(value: Any, depth: int = 0) -> Any:
    """Refuse what JSON or the API server cannot hold, so that rendering a checked template cannot fail on it."""
    if depth > MAX_DEPTH:
        raise Wrong(f"nested deeper than {MAX_DEPTH} levels", "write a flatter value")
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise Wrong(f"a key is text, not {quoted(name)}", "put it in quotes")
            check_json(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            check_json(inner, depth + 1)
    elif isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise Wrong("a number beyond 64 bits", "write a smaller one")
    elif isinstance(value, float) and not -1e308 < value < 1e308:
        raise Wrong("a number too large to hold", "write a finite number")
    return value


Opaque = Annotated[dict[str, Any], Field(max_length=64), AfterValidator(check_json)]
"""A mapping that the API server checks."""
Opaques = Annotated[tuple[Opaque, ...], listed(64)]
Name = Annotated[str, limited(LABEL_1123, 63)]
Word = Annotated[str, limited(TEXT, 253)]
Path = Annotated[str, limited(TEXT, 1_024)]
Value = Annotated[str, limited(SCRIPT, 65_536, 0)]
Arguments = Annotated[tuple[Value, ...], listed(1_024)]
Selector = Annotated[dict[LabelKey, LabelValue], Field(max_length=64)]


def unique(key: str) -> Any:
    """Return a list whose elements differ in ``key``: Kubernetes rejects a name that is used twice."""

    def check(elements: tuple[Any, ...]) -> tuple[Any, ...]:
        seen = set()
        for element in elements:
            name = getattr(element, key)
            if name in seen:
                raise Wrong(f"{quoted(name)} is listed twice", "give every element a name of its own")
            seen.add(name)
        return elements

    return AfterValidator(check)


def is_reserved_volume(name: str) -> bool:
    """Return True for a name of a volume that Muster adds: shared memory, a directory, a claim of ``spec.storage``."""
    claim = name.startswith(CLAIM_VOLUME) and name.removeprefix(CLAIM_VOLUME).isdigit()
    return claim or name in (ASSIST_VOLUME, PROGRESS_VOLUME, SHM_VOLUME, SCRATCH_VOLUME)
