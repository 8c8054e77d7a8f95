"""The JSONPath subset of printer columns: `.a.b`, `['a']`, `[0]`, `[-1]`, `[*]`, and filters `[?(@.type=="Ready")]`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

_STEP = re.compile(
    r"""
    \.?\[\?\(\s*@(?P<left>[^=!<>]+?)\s*(?P<op>==|!=)\s*(?P<right>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]
  | \.?\[(?P<index>-?\d+|\*)\]
  | \.?\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]
  | \.(?P<name>(?:\\.|[^.\[\\])+)
    """,
    re.VERBOSE,
)
Step = Callable[[list[Any]], list[Any]]


def _field(name: str) -> Step:
    if name == "*":
        return lambda nodes: [v for n in nodes if isinstance(n, dict) for v in n.values()]
    return lambda nodes: [n[name] for n in nodes if isinstance(n, dict) and name in n]


def _index(text: str) -> Step:
    if text == "*":
        return lambda nodes: [
            v for n in nodes if isinstance(n, list | dict) for v in (n if isinstance(n, list) else n.values())
        ]
    at = int(text)
    return lambda nodes: [n[at] for n in nodes if isinstance(n, list) and -len(n) <= at < len(n)]


def _filter(left: str, operator: str, right: str) -> Step:
    path = compile_path(left)
    wanted = right[1:-1] if right[0] in "\"'" else right

    def keep(item: Any) -> bool:
        found = path(item)
        if not found:
            return False
        value = found[0]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return (text == wanted) == (operator == "==")

    return lambda nodes: [item for n in nodes if isinstance(n, list) for item in n if keep(item)]


@functools.lru_cache(maxsize=512)
def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """A function that finds all values at a path; raises ValueError for what is outside the subset."""
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    text = text.removeprefix("$")
    if text and text[0] not in ".[":
        text = "." + text
    steps: list[Step] = []
    at = 0
    while at < len(text) and text != ".":
        found = _STEP.match(text, at)
        if found is None:
            raise ValueError(f"the JSONPath {text!r} is not understood from {text[at:]!r} on")
        if found["op"]:
            steps.append(_filter(found["left"], found["op"], found["right"]))
        elif found["index"]:
            steps.append(_index(found["index"]))
        elif found["quote"]:
            steps.append(_field(found["quoted"]))
        else:
            steps.append(_field(found["name"].replace("\\", "")))
        at = found.end()

    def find(value: Any) -> list[Any]:
        nodes = [value]
        for step in steps:
            nodes = step(nodes)
        return nodes

    return find
