"""Every command that a sentence of the product proposes is one that `muster` takes, and it finds the run it names."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

import muster
from tests.docs.test_commands_parse import parse

SOURCE = Path(muster.__file__).parent
PROPOSED = re.compile(r"(?<![\w-])(?P<quoted>`?)muster (?P<verb>[a-z][a-z-]*)(?P<rest>(?:\{[^{}]*\}|[^;`)|&<>\n{}])*)")
NO_COMMANDS = frozenset({"recorder", "report", "place", "does", "run of"})
"""Words after `muster` in names of threads, and in sentences about it."""
RUN = re.compile(r"^ (?:NAME\b|\{)")
PLACE = re.compile(r" (?:-n|--namespace) |\{[^{}]*(?:flags|where|there|place)[^{}]*\}|\{run\}")
"""What names the place of a run; ``run`` is a name with it."""
FLAGS = re.compile(r"\{[^{}]*(?:flags|where|there|place|listed)[^{}]*\}")


class Proposal(NamedTuple):
    """A command in a sentence, with the sources of what is put into it in braces."""

    where: str
    verb: str
    rest: str
    quoted: bool


def sentences(tree: ast.Module) -> Iterator[ast.AST]:
    """The texts of a module that are no docstrings; those of an f-string are one."""
    inner = {id(part) for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in ast.walk(each)}
    inner |= {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and id(each) not in inner):
            yield each


def text_of(node: ast.AST) -> str:
    match node:
        case ast.JoinedStr(values):
            return "".join(map(text_of, values))
        case ast.FormattedValue(value):
            return f"{{{ast.unparse(value)}}}"
        case ast.Constant(str() as text):
            return text
    return ""


def proposals() -> Iterator[Proposal]:
    for file in sorted(SOURCE.rglob("*.py")):
        for node in sentences(ast.parse(file.read_text(encoding="utf-8"))):
            for found in PROPOSED.finditer(text_of(node)):
                if not any(f"{found['verb']}{found['rest']} ".startswith(f"{each} ") for each in NO_COMMANDS):
                    name = file.relative_to(SOURCE)
                    yield Proposal(f"{name}: {found[0]}", found["verb"], found["rest"], bool(found["quoted"]))


ALL = list(dict.fromkeys(proposals()))


def test_the_commands_are_found() -> None:
    assert len(ALL) > 150
    assert {each.where.partition("/")[0] for each in ALL} >= {"cli", "client", "state", "kinds", "daemon"}


@pytest.mark.parametrize("proposal", ALL, ids=lambda each: each.where)
def test_a_proposed_command_is_one_that_the_command_line_takes(proposal: Proposal) -> None:
    command = re.sub(r"\{[^{}]*\}", "1", FLAGS.sub("", proposal.rest)).replace("RANK", "1")
    words = [word.rstrip(",.:") for word in shlex.split(command)] if command.count("'") % 2 == 0 else command.split()
    try:
        parse([proposal.verb, *words])
    except click.MissingParameter:
        pass  # the verb alone, or one option of it
    except click.UsageError as error:
        if proposal.quoted or "unexpected extra argument" not in error.format_message():
            raise  # else the sentence goes on


def test_a_proposed_command_about_a_run_names_its_place() -> None:
    about = [each for each in ALL if RUN.match(each.rest) and each.verb not in ("lint", "render", "convert")]
    assert len(about) > 20
    assert [each.where for each in about if not PLACE.search(each.rest)] == []
