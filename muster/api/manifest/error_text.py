"""Turn pydantic's errors into messages with the correction.

pydantic reports which check failed and its path in the data, the YAML tree has the line and column of that path, and
the models have the valid names and values.
"""

from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from muster.api.manifest.operators import only_for, operators
from muster.api.manifest.problems import MAX_PROBLEMS, Problem, nearest, path, quoted
from muster.api.manifest.template.field import CheckedBy
from muster.api.manifest.types.field import Types, types_of
from muster.api.manifest.yaml.reader import Entry, Mapping, Node, Scalar, Sequence, at
from muster.api.manifest.yaml.scalars import trap
from muster.api.values.fields import MEANING, Wrong

Loc = tuple[str | int, ...]

_IN_TEMPLATE: Final = "in kind: Experiment, it belongs in spec.template.spec"
_RENEWED: Final = "write renewOnProgress: true: backoffLimit then counts the restarts since the last progress"
REMOVED: Final = {"window": _RENEWED, "noProgressLimit": _RENEWED}
"""Hints for field names that were fields once."""
_OF_EXPERIMENTS: Final = (
    "suspend",
    "startup",
    "clocks",
    "backoff",
    "successPolicy",
    "progressEndpoint",
    "assist",
    "managedBy",
    "ttlAfterFinished",
    "template",
)
ELSEWHERE: Final = {
    **dict.fromkeys(_OF_EXPERIMENTS, "it belongs to kind: Experiment, apiVersion: muster.dev/v1alpha1"),
    "env": "in kind: Experiment, write it for container main in spec.template; else NAME=value before the command",
    "volumes": _IN_TEMPLATE,
    "nodeSelector": "write extraSelectors in the type's resources, or nodeSelector in spec.template.spec",
    "tolerations": "write extraTolerations in the type's resources, or tolerations in spec.template.spec",
    "affinity": _IN_TEMPLATE,
    "serviceAccountName": _IN_TEMPLATE,
    "imagePullSecrets": _IN_TEMPLATE,
    "priorityClassName": _IN_TEMPLATE,
    "parallelism": "the field is parallelisms",
}
"""Hints for field names that belong to another place. Those that belong to another operator follow from its types."""

_WORDS: Final = frozenset(("yes", "no", "on", "off", "y", "n", "true", "false"))
_MANY: Final = 16


def explain(
    error: ValidationError,
    model: type[BaseModel],
    *,
    operator: object = None,
    root: Loc = (),
    node: Node | None = None,
    file: str = "",
) -> list[Problem]:
    """Return one ``Problem`` for each error.

    ``root`` is the path of the model's data in the document, ``node`` the tree of the whole document (None without a
    text), and ``operator`` selects the model of ``spec.types``.
    """
    known = _Models(model, operator)
    problems = []
    for number, detail in enumerate(each for each in error.errors(include_url=False) if not _follows(each)):
        loc = root + tuple(part for part in detail["loc"] if part != "[key]")
        at_key = detail["type"] == "extra_forbidden" or "[key]" in detail["loc"]
        line, column = position(node, loc, key=at_key)
        written = at(node, *loc)
        raw = written.raw if isinstance(written, Scalar) else None
        message, hint = _sentence(detail, known, raw, advise=number < MAX_PROBLEMS)
        problems.append(Problem(file, line, column, path(loc), message, hint))
    return problems


def known_fields(model: type[BaseModel], operator: object, loc: Loc) -> list[str]:
    """Return the fields that the model has at ``loc``; empty if any name is allowed."""
    return list(_Models(model, operator).fields(loc))


def position(node: Node | None, loc: Loc, *, key: bool = False) -> tuple[int, int]:
    """Return line and column of the value (or the key) at ``loc``, or of its nearest parent; 0, 0 without a tree."""
    if node is None:
        return 0, 0
    line, column = node.line, node.column
    for number, part in enumerate(loc, start=1):
        found = _step(node, part)
        if found is None:
            break
        last = number == len(loc)
        if isinstance(found, Entry):
            node = found.node
            leaf = isinstance(node, Scalar) and node.raw != ""
            line, column = (node.line, node.column) if last and not key and leaf else (found.line, found.column)
        else:
            node = found
            line, column = node.line, node.column
    return line, column


def _step(node: Node, part: str | int) -> Entry | Node | None:
    if isinstance(node, Mapping) and isinstance(part, str):
        return node.entries.get(part)
    if isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
        return node.items[part]
    return None


def _follows(detail: ErrorDetails) -> bool:
    """Return True if a list is too short only because an entry of it is wrong, which has a problem of its own."""
    value = detail["input"]
    return detail["type"] == "too_short" and isinstance(value, list) and len(value) >= detail["ctx"]["min_length"]


def _sentence(detail: ErrorDetails, known: "_Models", raw: str | None, *, advise: bool) -> tuple[str, str]:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, Wrong):
        return cause.message, cause.hint
    if kind == "extra_forbidden":
        return "unknown field", known.right_name(detail["loc"]) if advise else ""
    if kind == "missing":
        return "a required field is missing", known.what_it_is(detail["loc"])
    if kind in ("int_type", "int_from_float", "float_type"):
        noun = "a number" if kind == "float_type" else "a whole number"
        hint = trap(value) if isinstance(value, str) else ""
        if isinstance(value, float) and value.is_integer():
            hint = f"write {int(value)}"
        return f"{noun} is expected, not {_shown(value)}", hint
    if kind == "bool_type":
        yes_no = isinstance(value, str) and value.lower() in _WORDS
        hint = "write true or false, without quotes" if yes_no else ""
        return f"true or false is expected, not {_shown(value)}", hint
    if kind == "string_type":
        written = raw if raw is not None else value
        hint = f'put it in quotes: "{str(written)[:60]}"' if isinstance(value, bool | int | float) else ""
        return f"text is expected, not {quoted(value)}", hint
    if kind == "literal_error":
        expected = str(context.get("expected", "")).replace("'", "")
        close = nearest(value, expected.replace(" or ", ", ").split(", ")) if isinstance(value, str) else None
        return f"{_shown(value)} is not allowed here, it is {expected}", f"write {close}" if close else ""
    if kind == "string_pattern_mismatch":
        meaning = MEANING.get(str(context.get("pattern")), "of the right form")
        return f"{quoted(value)} is not {meaning}", ""
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"a mapping is expected, not {_shown(value)}", "write indented lines of the form `name: value`"
    if kind in ("tuple_type", "list_type"):
        return f"a list is expected, not {_shown(value)}", "write indented lines that begin with `- `"
    return _limits(kind, value, context) or (detail["msg"], "")


def _limits(kind: str, value: Any, context: dict[str, Any]) -> tuple[str, str] | None:
    bounds = {
        "greater_than_equal": ("ge", "at least"),
        "greater_than": ("gt", "more than"),
        "less_than_equal": ("le", "at most"),
        "less_than": ("lt", "less than"),
    }
    if kind in bounds:
        key, words = bounds[kind]
        limit = context.get(key)
        shown = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        return f"{quoted(value)} is out of range", f"write {words} {shown}"
    if kind == "string_too_long":
        return f"longer than {context.get('max_length')} characters", "shorten it"
    if kind == "string_too_short":
        return "it is empty" if value == "" else f"{quoted(value)} is too short", "write a value"
    if kind == "too_long":
        return f"{context.get('actual_length')} entries", f"write at most {context.get('max_length')}"
    if kind == "too_short":
        return "it is empty", f"write at least {context.get('min_length')} entry"
    if kind in ("string_unicode", "finite_number"):
        return f"{quoted(value)} cannot be used", "write plain text or a finite number"
    return None


def _annotation(field: FieldInfo) -> Any:
    """Return the type of a field; of one that stays a plain mapping, the model that checks it."""
    models = [marker.model() for marker in field.metadata if isinstance(marker, CheckedBy)]
    return models[0] if models else field.annotation


def _shown(value: Any) -> str:
    return f"the text {quoted(value)}" if isinstance(value, str) else quoted(value)


class _Models:
    """Looks up names and descriptions of fields in the models."""

    def __init__(self, model: type[BaseModel], operator: object) -> None:
        self.model = model
        self.operator = operator
        self.types = types_of(operator)

    def right_name(self, loc: Loc) -> str:
        """Return the hint for the unknown field at ``loc``."""
        name = str(loc[-1])
        known = list(self.fields(loc[:-1]))
        if hint := REMOVED.get(name):
            return hint
        if close := nearest(name, known):
            return f"did you mean {close}?"
        if hint := ELSEWHERE.get(name) or self._elsewhere(name):
            return hint
        return f"known here: {', '.join(known)}" if 0 < len(known) <= _MANY else "remove it"

    def what_it_is(self, loc: Loc) -> str:
        """Return the hint for the missing field at ``loc``."""
        name = str(loc[-1])
        field = self.fields(loc[:-1]).get(name)
        meaning = field.description if field else None
        return f"write {name}: {meaning[0].lower()}{meaning[1:].rstrip('.')}" if meaning else f"write {name}"

    def fields(self, loc: Loc) -> dict[str, FieldInfo]:
        """Return the fields at ``loc``, by their names on the wire."""
        annotation: Any = self.model
        for part in loc:
            annotation = self._inner(self._bare(annotation), part)
        return self._names(self._bare(annotation))

    def _elsewhere(self, name: str) -> str:
        """Return the hint for a field that other operators' types have, or that this operator hints at; else empty."""
        having = [other for other, each in operators().items() if name in self._of_types(each.types())]
        hints = [f"it is {only_for(having)}"] if having and self.operator not in having else []
        if own := operators().get(str(self.operator)):
            hints.append(own.hints.get(name, ""))
        return "; ".join(filter(None, hints))

    def _of_types(self, types: type[BaseModel]) -> set[str]:
        inner = [self._bare(self._inner(types, name)) for name in self._names(types) or ("any",)]
        each = [self._bare(self._inner(shape, 0)) if get_origin(shape) is tuple else shape for shape in inner]
        return {name for shape in each for name in self._names(shape)}

    def _names(self, shape: Any) -> dict[str, FieldInfo]:
        """Return the fields of a model, by their names on the wire; none of what has no named fields."""
        if not isinstance(shape, type) or not issubclass(shape, BaseModel) or shape.__pydantic_root_model__:
            return {}
        return {field.alias or name: field for name, field in shape.model_fields.items()}

    def _inner(self, shape: Any, part: str | int) -> Any:
        if isinstance(shape, type) and issubclass(shape, BaseModel) and shape.__pydantic_root_model__:
            shape = self._bare(shape.model_fields["root"].annotation)
        if isinstance(shape, type) and issubclass(shape, BaseModel):
            found = [field for name, field in shape.model_fields.items() if part == (field.alias or name)]
            return _annotation(found[0]) if found else None
        arguments = get_args(shape)
        return arguments[-1 if get_origin(shape) is dict else 0] if arguments else None

    def _bare(self, annotation: Any) -> Any:
        """Return the annotation without Annotated and None, and with the types of the operator at hand."""
        while get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        if annotation == Types:
            return self.types
        if get_origin(annotation) in (Union, UnionType):
            return self._bare(get_args(annotation)[0])
        return annotation
