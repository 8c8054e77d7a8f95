r"""JSONPaths of printer columns and selectable fields, which anyone who may create a CRD writes.

Kubernetes' dialect is rewritten into RFC 9535: no leading `$` is needed, and `\.` is a dot inside a name
(client-go/util/jsonpath). Only steps whose cost is bounded by the size of the object are accepted: a name, an index,
`*`, or a filter that compares a field of each item with a literal, such as `[?(@.type=="Ready")]`. Functions (regular
expressions), `..` and selector lists are refused: a few of them in a row take exponential time.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from jsonpath.filter import UNDEFINED, BaseExpression, FilterQuery
from jsonpath.segments import JSONPathChildSegment
from jsonpath.selectors import Filter, IndexSelector, NameSelector, WildcardSelector

LONGEST = 1024
_STEP = re.compile(
    r"""
    \.?(?P<filter>\[\?\((?:"[^"]*"|'[^']*'|[^"'])*?\)\])
  | \.?(?P<bracket>\[(?:"[^"]*"|'[^']*'|[^"'\]])*\])
  | \.?(?P<name>(?:\\.|[^.\[\\])+)
    """,
    re.VERBOSE,
)


class _Environment(JSONPathEnvironment):
    """RFC 9535 without functions. As in Kubernetes, no comparison holds for a field that is missing."""

    def setup_function_extensions(self) -> None:
        """Register none: `match` and `search` run regular expressions."""

    def compare(self, left: object, operator: str, right: object) -> bool:
        missing = left is UNDEFINED or right is UNDEFINED or left == [] or right == []
        return not missing and super().compare(left, operator, right)


_environment = _Environment(strict=True)


def _rfc9535(step: re.Match[str]) -> str:
    if step["name"] is None:
        return str(step["filter"] or step["bracket"].replace("\\.", "."))
    return "[*]" if step["name"] == "*" else f"[{json.dumps(step['name'].replace(chr(92), ''))}]"


def _bounded(path: JSONPath) -> bool:
    """Whether each segment visits a node of the object at most once."""
    for segment in path.segments:
        if not isinstance(segment, JSONPathChildSegment) or len(segment.selectors) != 1:
            return False
        selector = segment.selectors[0]
        if isinstance(selector, Filter):
            waiting: list[BaseExpression] = [selector.expression]
            while waiting:
                expression = waiting.pop()
                if isinstance(expression, FilterQuery) and not expression.path.singular_query():
                    return False
                waiting += expression.children()
        elif not isinstance(selector, NameSelector | IndexSelector | WildcardSelector):
            return False
    return True


@functools.lru_cache(maxsize=512)
def compile_path(text: str) -> Callable[[dict[str, Any]], list[Any]]:
    """A function that finds all values at a path of an object; raises ValueError for a path that is not accepted."""
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    inner = inner.removeprefix("$")
    if len(inner) > LONGEST:
        raise ValueError(f"the JSONPath is longer than {LONGEST} characters")
    try:
        path = _environment.compile("$" + ("" if inner == "." else _STEP.sub(_rfc9535, inner)))
    except (JSONPathError, ValueError, ArithmeticError, LookupError, RecursionError) as failure:
        raise ValueError(f"{text!r} is not a JSONPath: {failure}") from failure
    if not isinstance(path, JSONPath) or not _bounded(path):
        raise ValueError(
            f"the JSONPath {text!r} is not supported; use names, indices, [*] and filters that compare one field, "
            'such as [?(@.type=="Ready")]'
        )
    return path.findall
