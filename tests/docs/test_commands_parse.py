"""Every ``muster`` command in README and docs is one that the command line takes: verb, options and their values."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from muster.cli.main import muster
from tests.docs.test_links import PAGES, ROOT

FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(muster [^`]+)`")
COMMAND = re.compile(r"(?:^|\$\(|\| |&& |xargs )(?=(muster [^\n]*))", re.MULTILINE)
END = frozenset(("|", "||", "&&", ";", ">", "<", ")", "&"))
NUMBERS = {"N": "1", "<N>": "1", "PORT": "8265"}
"""Placeholders of numbers."""


def commands(page: Path) -> Iterator[str]:
    """The commands of a page, in blocks and in sentences."""
    text = page.read_text(encoding="utf-8")
    for block in FENCED.findall(text):
        yield from COMMAND.findall(block.replace("\\\n", " "))
    found = INLINE.findall(FENCED.sub("", text))
    yield from (" ".join(each.split()) for each in found if is_runbook(page) or "\n" not in each)


def is_runbook(page: Path) -> bool:
    """Its commands are whole, in sentences too. Elsewhere a sentence may be about an option alone."""
    return page.parent.name == "runbooks" and page.stem != "README"


def words(command: str) -> list[str] | None:
    """The arguments up to the end of the command; None for a sentence with ``...`` in the place of some."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>)")
    lexer.whitespace_split, lexer.commenters = True, "#"
    found: list[str] = []
    for word in lexer:
        if word in END:
            break
        if not word.startswith("["):  # a part that may be left out
            found.append(NUMBERS.get(word, word))
    return None if any("..." in word or "…" in word for word in found) else found[1:]


def parse(arguments: list[str]) -> None:
    """Raises ``click.UsageError`` for what the command line does not take."""
    context = click.Context(muster, info_name="muster")
    command: click.Command = muster
    while isinstance(command, click.Group):
        if not arguments or arguments[0].startswith("-"):
            return  # `muster --help`, or the name of a family of verbs
        name, command_of, arguments = arguments[0], command, arguments[1:]
        found = command_of.get_command(context, name)
        if found is None:
            raise click.UsageError(f"no such verb: {name}")
        context, command = click.Context(found, info_name=name, parent=context), found
    if not arguments or "--help" in arguments:
        return  # the verb is named and not called
    command.make_context(command.name, list(arguments), parent=context.parent)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_is_one_that_the_command_line_takes(page: Path) -> None:
    wrong = []
    for command in commands(page):
        arguments = words(command)
        try:
            parse(arguments or [])
        except click.UsageError as error:
            if is_runbook(page) or not isinstance(error, click.MissingParameter):
                wrong.append(f"{command}: {error.format_message()}")
    assert wrong == []


def test_the_commands_of_the_pages_are_found() -> None:
    found = [command for page in PAGES for command in commands(page)]
    assert len(found) > 100
    assert any(command.startswith("muster delete --yes") for command in found), "in a pipe, too"


@pytest.mark.parametrize("command", ["muster conquer", "muster list --fase Failed", "muster logs x --rank two"])
def test_a_wrong_command_is_seen(command: str) -> None:
    with pytest.raises(click.UsageError):
        parse(words(command) or [])
