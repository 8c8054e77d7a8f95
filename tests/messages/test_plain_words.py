"""Texts that reach a person are in plain words: what Muster prints, writes into a status, serves and asks for,
and what alerts and dashboards have.

They have no word of ``tools.lengths.dialect``, which pages do without, and none of ``FORMS``: each was replaced by the
subject, one verb, and the word that Kubernetes has. The docstring of a command is its help. Not counted are other
docstrings, what is logged (``log.info("event", ...)``), regular expressions, and words without a space, such as keys.

Docstrings and comments of ``ROOMS`` have no such word either, and none of the docstrings there has one of ``OPENINGS``.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tools.lengths.dialect import WORDS

ROOT: Final = Path(__file__).parents[2]
FORMS: Final = re.compile(
    r"\b(?:"
    r"say|tell|stand"  # of a program or an object: reports, shows, has; is, waits, is stuck
    r"|get on|got on"  # makes progress
    r"|h(?:e|o)lds? the \w+ up|hold up"  # blocks
    r"|(?:was|were) there|(?:is|are|was|were) not there"  # exists
    r"|not known to|any more|lies|lay"
    r"|mend|mends|mended|held still"  # fix, paused
    r")\b",
    re.IGNORECASE,
)
OPENINGS: Final = re.compile(r"(?:The same|Of|Whether|What|Where|When|How|Who|Whose|It|Its|They|Says|Tells)\b")
"""How no docstring begins: a function's begins with a verb in the imperative, another one with its noun."""
ROOMS: Final = (
    "benchmarks",
    "deploy",
    "examples",
    "muster",
    "tests/daemon",
    "tests/kube",
    "tests/reconcilers",
    "tests/watchers",
    "tools",
)
"""Rooms whose docstrings and comments are in plain words. A room that is rewritten is one more row."""
PRINTED: Final = (
    "What Muster knows and has decided.",
    "What follows the failures that it matches.",
    "What to run, and how Muster looks after it.",
)
"""Docstrings of models that are descriptions in the CRD: they may have any opening."""
LOGGED: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical"})


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the literal part of each text that may reach a person."""
    left: set[int] = set()
    helps = {id(node.body[0]) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _is_command(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and id(node) not in helps:
            left.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_apart(node.func):
            left.update(map(id, node.args))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in left:
            left.update(map(id, node.values))
            yield node.lineno, "{}".join(str(each.value) for each in node.values if isinstance(each, ast.Constant))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left:
            yield node.lineno, node.value


def _is_apart(function: ast.Attribute) -> bool:
    return function.attr in LOGGED or (isinstance(function.value, ast.Name) and function.value.id == "re")


def _is_command(node: ast.FunctionDef) -> bool:
    calls = (each.func for each in node.decorator_list if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr in ("command", "group") for each in calls)


def dialect(source: str) -> list[tuple[int, str]]:
    """The lines, and the texts, in which the source has one of the forms."""
    return [
        (line, text)
        for line, text in texts(ast.parse(source))
        if " " in text.strip() and (WORDS.search(text) or FORMS.search(text))
    ]


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring, also of a field, and of each comment, without quoted code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, _unquoted(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], _unquoted(token.string)


def _unquoted(text: str) -> str:
    return " ".join(re.sub("`+[^`]*`+", "-", text).split())


def unplain(source: str) -> list[tuple[int, str]]:
    """Return the lines, and the docstrings and comments, in which the source has a word, a form or an opening."""
    return [
        (line, text)
        for line, text in prose(source)
        if WORDS.search(text) or FORMS.search(text) or (OPENINGS.match(text) and not text.startswith(PRINTED))
    ]


def found() -> dict[str, list[tuple[int, str]]]:
    """Those of all modules of Muster, and of those that write alerts, dashboards and the chart."""
    modules = (path for room in ("muster", "deploy", "tools") for path in sorted((ROOT / room).rglob("*.py")))
    rows = {path: dialect(path.read_text(encoding="utf-8")) for path in modules if path.name != "dialect.py"}
    return {path.relative_to(ROOT).as_posix(): each for path, each in rows.items() if each}


@pytest.mark.drift
def test_every_text_is_in_plain_words() -> None:
    rest = [f"{path}:{line}: {text!r}" for path, texts_of in found().items() for line, text in texts_of]
    assert not rest, "\n".join(["write these in plain words (PLAIN, FORMS):", *rest])


@pytest.mark.drift
@pytest.mark.parametrize("room", ROOMS)
def test_every_docstring_and_comment_of_a_room_is_in_plain_words(room: str) -> None:
    place = ROOT / room
    modules = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    rows = [(each, unplain(each.read_text(encoding="utf-8"))) for each in modules]
    rest = [f"{each.relative_to(ROOT)}:{line}: {text}" for each, lines in rows for line, text in lines]
    assert modules
    assert not rest, "\n".join(["write these in plain words (PLAIN, FORMS, OPENINGS):", *rest])


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('"""It says so."""', 1),
        ("X = 1\n'''What the pod\nis told.'''", 1),
        ("def f():\n    'The same.'", 1),
        ("X = 1  # no rank gets on", 1),
        ('"""Return ``says``, as a pod has it."""\nX = 1  # of which: `told`', 1),
        ('"""Return the report of a pod."""\nX = "it says so"  # the report', 0),
    ],
)
def test_docstrings_and_comments_are_read_without_code(source: str, count: int) -> None:
    assert len(unplain(source)) == count


@pytest.mark.parametrize(
    "source",
    [
        "X = f'rank {one} says {two}'",
        "raise ValueError('the pod is not there')",
        "say('no rank gets on')",
        "X = 'a b ' 'goes on'",
        "X = {'rank 1 held the gang up': 1}",
        "@click.command()\ndef get():\n    'Print what it says.'",
    ],
)
def test_a_text_in_the_dialect_is_found(source: str) -> None:
    assert len(dialect(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""It says so."""',
        "log.info('the pod is not there')",
        "re.compile('what it says')",
        "X = 'says'",
        "say('rank 1 reports no step')",
    ],
)
def test_other_texts_are_not(source: str) -> None:
    assert dialect(source) == []
