"""The form of a msgspec struct in the status of an API object: written, and read back.

A field is declared once, as ``arrived: Annotated[Counter, Wire("Ranks that have arrived.")]``: the type defines its
form on the wire and its bounds, ``Wire`` its meaning. Writing, reading, the schema of the CRD and the list of facts are
made from that.

Written always: numbers, times, lists, true and false, and every field without a default. Left out: None, and in a field
with a default what means nothing (an empty text, rank -1, signal 0).

Read leniently: unknown fields are ignored, absent ones have their default, so that the status of a newer daemon never
stops an older one. What a kind cannot read is a ``WireError`` that names the field.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from muster.api.wire.kinds import NEVER, Kind, WireError, listed, optional, wrong

REMEMBERED: Final = 2048
"""Small structs that are not built again: most of a status is as it was in the one before."""

S = TypeVar("S", bound=msgspec.Struct)
_ABSENT: Final = object()
_RATIO: Final = re.compile("([0-9]{1,16})/([0-9]{1,16})")


class Life(IntEnum):
    """Lifetime of a field's value. What ends a longer life ends the shorter ones."""

    PHASE = 1
    """Until the phase changes."""
    EPOCH = 2
    """Until the next epoch of the gang."""
    START = 3
    """Until the experiment is suspended."""
    OBJECT = 4
    """As long as the object exists."""


@dataclass(frozen=True, slots=True)
class Wire:
    """The meaning of a field.

    ``name`` is its name on the wire where that is not its own in camelCase. A ``summary`` is for people and persisted
    from a budget; every other field is a fact, and persisted the moment it changes. A status without a ``required``
    field cannot be read. ``most`` bounds a list, which keeps its first or its ``newest`` items; a ``sparse`` one is not
    written while it is empty. ``of`` names the number that is written behind this one, as in ``3/4``.

    ``life`` is how long a value holds: a field is at its default again when that is over. A time that ``moves`` is
    moved by a step of the wall clock until the experiment has ended, and with ``after_end`` also then. Every other time
    ``stays`` as it is, for the reason that is given.
    """

    description: str
    name: str = ""
    summary: bool = False
    required: bool = False
    most: int = 0
    newest: bool = False
    sparse: bool = False
    of: str = ""
    life: Life = Life.OBJECT
    moves: bool = False
    after_end: bool = False
    stays: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A declared field. ``omitted`` is the value that is not written; ``items`` the structs in its list, or itself.

    ``default`` is ``msgspec.NODEFAULT`` where it has none.
    """

    name: str
    key: str
    wire: Wire
    kind: Kind
    items: type[msgspec.Struct] | None
    default: object
    omitted: object


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a struct that are on the wire, in the order of their declaration.

    ``small``: they can all be keys of a cache.
    """

    fields: tuple[Field, ...]
    small: bool


@lru_cache(64)
def shape_of(struct: type[msgspec.Struct]) -> Shape:
    """Return the form of a struct on the wire."""
    hints = get_type_hints(struct, include_extras=True)
    fields = tuple(
        _field(declared, hints[declared.name], wire)
        for declared in msgspec.structs.fields(struct)
        for wire in get_args(hints[declared.name])
        if isinstance(wire, Wire)
    )
    return Shape(fields, small=not any(field.items or field.wire.most for field in fields))


def _field(declared: msgspec.structs.FieldInfo, hint: Any, wire: Wire) -> Field:
    kind, items = _kind_of(hint, wire)
    key = wire.name or _camel(declared.name)
    omitted = NEVER if declared.required else kind.none
    return Field(declared.name, key, wire, kind, items, declared.default, omitted)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _kind_of(hint: Any, wire: Wire) -> tuple[Kind, type[msgspec.Struct] | None]:
    """Return the kind that writes and reads a type, and the struct in it, if any."""
    args = get_args(hint)
    if get_origin(hint) is Annotated:
        kinds = [each for each in args if isinstance(each, Kind)]
        return (kinds[0], None) if kinds else _kind_of(args[0], wire)
    if get_origin(hint) in (Union, UnionType):
        kind, struct = _kind_of(next(each for each in args if each is not NoneType), wire)
        return optional(kind), struct
    if get_origin(hint) is tuple:
        kind, struct = _kind_of(args[0], wire)
        many = listed(kind, wire.most, newest=wire.newest)
        return (replace(many, none=()) if wire.sparse else many), struct
    return Kind(schema_of(hint), partial(read, hint), partial(write, hint)), hint


def write(struct: type[msgspec.Struct], value: msgspec.Struct) -> dict[str, Any]:
    """Return the wire form of a value, by the fields of ``struct``: its type, or the one that its type extends."""
    return dict(_written_once(struct, value)) if shape_of(struct).small else _written(struct, value)


def _written(struct: type[msgspec.Struct], value: msgspec.Struct) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in shape_of(struct).fields:
        held = getattr(value, field.name)
        if field.wire.of:
            found[field.key] = f"{held}/{getattr(value, field.wire.of)}"
        elif held != field.omitted:
            found[field.key] = field.kind.write(held)
    return found


_written_once = lru_cache(REMEMBERED)(_written)


def read(struct: type[S], raw: object) -> S:
    """Return the struct that was written so. Raises ``WireError``."""
    if not isinstance(raw, Mapping):
        raise wrong(raw, "a mapping")
    shape = shape_of(struct)
    values = [raw.get(field.key, _ABSENT) for field in shape.fields]
    if shape.small:
        try:
            remembered: S = _read_once(struct, *values)
        except TypeError:  # a list or mapping cannot be a key of the cache; it is an error, which is raised below
            pass
        else:
            return remembered
    return _read(struct, *values)


def _read(struct: type[S], *values: Any) -> S:
    found: dict[str, Any] = {}
    for field, value in zip(shape_of(struct).fields, values, strict=True):
        if value is _ABSENT or (value is None and field.kind.null):
            if field.wire.required:
                raise WireError(f"{field.key}: it is required")
            if field.default is msgspec.NODEFAULT:
                found[field.name] = field.kind.zero
            continue
        try:
            found |= _ratio(field, value) if field.wire.of else {field.name: field.kind.read(value)}
        except WireError as error:
            raise WireError(f"{field.key}: {error}") from None
    return struct(**found)


_read_once = lru_cache(REMEMBERED, typed=True)(_read)  # typed: 1 is not True, and neither is 1.0


def _ratio(field: Field, value: Any) -> dict[str, int]:
    if not isinstance(value, str) or not (found := _RATIO.fullmatch(value)):
        raise wrong(value, "a ratio such as 3/4")
    return {field.name: field.kind.read(int(found[1])), field.wire.of: field.kind.read(int(found[2]))}


def schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of the wire form."""
    fields = shape_of(struct).fields
    schema: dict[str, Any] = {"type": "object", "description": struct.__doc__}
    if required := [field.key for field in fields if field.wire.required]:
        schema["required"] = required
    schema["properties"] = {
        field.key: ({"type": "string", "maxLength": 128} if field.wire.of else field.kind.schema)
        | {"description": field.wire.description}
        for field in fields
    }
    return schema


def facts_of(struct: type[msgspec.Struct]) -> Callable[[Any], tuple[object, ...]]:
    """Return a function that gives the facts of a value; for structs in a partly summary list, those of each."""
    facts = [field for field in shape_of(struct).fields if not field.wire.summary]
    partly = [field for field in facts if field.items and any(f.wire.summary for f in shape_of(field.items).fields)]
    whole: attrgetter[tuple[object, ...]] = attrgetter(*(field.name for field in facts if field not in partly))
    inner = [(attrgetter(field.name), facts_of(field.items)) for field in partly if field.items]
    if not inner:
        return whole
    return lambda value: whole(value) + tuple(tuple(map(each, items(value))) for items, each in inner)
