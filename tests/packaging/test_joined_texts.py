"""No sentence falls apart into letters: a text is an iterable, so a type checker lets it be joined or spread.

What is known to be a text: a literal, an f-string, a call of a function that is annotated to return ``str``, and a
parameter that is annotated so.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEQUENCES = {"sorted", "reversed", "list", "tuple", "set", "frozenset", "iter"}
"""Functions that give the items of what they take: of a text, its letters."""


def spread(tree: ast.Module, texts: frozenset[str]) -> Iterator[int]:
    """The lines where a text is joined or spread; ``texts`` are the functions that return one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            names = frozenset(each.arg for each in arguments if _is_str(each.annotation)) - _assigned(node)
            yield from (line for inner in node.body for line in _lines(inner, texts, names))
    yield from _lines(tree, texts, frozenset())


def _lines(root: ast.AST, texts: frozenset[str], names: frozenset[str]) -> Iterator[int]:
    for node in ast.walk(root):
        if isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load) and _text(node.value, texts, names):
            yield node.lineno
        elif isinstance(node, ast.Call) and _joins(node) and len(node.args) == 1:
            (given,) = node.args
            if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id in SEQUENCES:
                given = given.args[0] if given.args else given
            if _text(given, texts, names):
                yield node.lineno


def _joins(call: ast.Call) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and function.attr == "join" and isinstance(function.value, ast.Constant)


def _text(node: ast.AST, texts: frozenset[str], names: frozenset[str]) -> bool:
    if isinstance(node, ast.Call):
        function = node.func
        called = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        return called in texts
    if isinstance(node, ast.IfExp):
        return _text(node.body, texts, names) or _text(node.orelse, texts, names)
    if isinstance(node, ast.Name):
        return node.id in names
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _assigned(function: ast.AST) -> frozenset[str]:
    """The names that are set in the function: what they hold may be something else then."""
    nodes = (each for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    return frozenset(each.id for each in nodes)


def _is_str(annotation: ast.AST | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "str"


@cache
def trees() -> dict[str, ast.Module]:
    """The modules of Muster, and of what is delivered with it."""
    files = (file for folder in ("muster", "deploy", "tools") for file in (ROOT / folder).rglob("*.py"))
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def texts_of(modules: Iterator[ast.Module]) -> frozenset[str]:
    """The functions that return a text, by name; a name that returns something else anywhere is left out."""
    found: dict[str, set[bool]] = {}
    for tree in modules:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(node.name, set()).add(_is_str(node.returns))
    return frozenset(name for name, kinds in found.items() if kinds == {True}) - {"join", "format", "group"}


def test_no_text_is_joined_or_spread_letter_by_letter() -> None:
    texts = texts_of(iter(trees().values()))
    assert len(texts) > 300
    assert [f"{name}:{line}" for name, tree in trees().items() for line in sorted({*spread(tree, texts)})] == []


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ('"; ".join((a, *said()))', True),
        ('"; ".join(said())', True),
        ('", ".join(sorted(said()))', True),
        ('", ".join(self.said())', True),
        ('", ".join(f"{a}")', True),
        ("[*a, *said()]", True),
        ("show(*said())", True),
        ('"; ".join((a, *(said() if a else ())))', True),
        ('def f(word: str) -> None:\n    ", ".join(word)', True),
        ('def f(word: str) -> None:\n    word = [word]\n    ", ".join(word)', False),
        ('"; ".join((a, said()))', False),
        ('"; ".join(filter(None, (a, said())))', False),
        ('"; ".join(names())', False),
        ("first, *rest = said", False),
    ],
)
def test_a_text_that_falls_apart_is_found(source: str, wrong: bool) -> None:
    head = "def said() -> str: ...\ndef names() -> list[str]: ...\n"
    tree = ast.parse(head + source)
    assert bool([*spread(tree, texts_of(iter([tree])))]) is wrong
