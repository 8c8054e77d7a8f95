"""The tables of compatibility: a field or a behaviour a row, and the test that shows it or the reason against it.

Each kind has a file of YAML. ``$WORD`` in ``test`` and ``set`` is one of the file's ``words``, and ``$WORD*51`` is a
list of 51 of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.docs.pages import ROOT, absent


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    ``test`` is ``file::function``, or ``file::function[case]`` where the case is a text in the file. A row with
    ``set`` (a ``PATH=VALUE`` on the base manifest of its section) is tried: with ``refused`` the manifest must be
    refused with that text, else it must be read. ``whole`` states the place of the refusal and the advice, too.
    """

    field: str
    does: str
    test: str = ""
    set: str = ""
    refused: str = ""
    whole: str = ""

    @property
    def works(self) -> bool:
        return not self.refused

    def missing(self) -> str:
        """What of the named test is not there; empty if all of it is."""
        path, _, rest = self.test.partition("::")
        function, _, case = rest.removesuffix("]").partition("[")
        if not function or absent(path, function):
            return f"{self.field}: no test {self.test!r}"
        text = (ROOT / path).read_text(encoding="utf-8")
        return "" if case in text else f"{self.field}: no case {case!r} in {path}"


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one kind; ``base`` is a manifest that is read."""

    title: str
    text: str
    base: str
    rows: tuple[Row, ...]


def _section(name: str) -> Section:
    found = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
    rows = tuple(Row(**{key: _filled(text, found["words"]) for key, text in row.items()}) for row in found["rows"])
    return Section(found["title"], found["text"], found["base"], rows)


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\$([A-Z]+)(?:\*(\d+))?", lambda word: ", ".join([words[word[1]]] * int(word[2] or 1)), text)


AICHOR, JOBSET, JAXJOB = SECTIONS = tuple(map(_section, ("aichor", "jobset", "jaxjob")))
