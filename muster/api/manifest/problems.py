"""Problems of a manifest or a spec.

A ``Problem`` names the place (file, line, column), the field, what is wrong and what to do. An error carries all
problems, not only the first. Text quoted from the document is shortened and escaped, so that a message is safe to print
and to log.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from muster.api.errors import MusterError

MAX_PROBLEMS: Final = 32
"""Problems beyond this number are counted, not listed."""

_MAX_QUOTED: Final = 60
_MAX_KEY: Final = 64


@dataclass(frozen=True, slots=True)
class Problem:
    """An error, or a warning, about one place. Lines and columns count from 1; 0 means that there is no text."""

    file: str
    line: int
    column: int
    field: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.what)))

    @property
    def where(self) -> str:
        """Return file, line and column, as far as they are known."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    @property
    def what(self) -> str:
        """Return the field, and what is wrong with it."""
        return ": ".join(filter(None, (self.field, f"{self.message}, {self.hint}" if self.hint else self.message)))


@dataclass(frozen=True, slots=True)
class Refused:
    """A part of a spec that cannot be used: its place in the spec, why, and what to do about it."""

    loc: tuple[str | int, ...]
    message: str
    hint: str


class ProblemsError(MusterError, ValueError):
    """A manifest or a spec cannot be used; ``problems`` lists every reason."""

    advice: str = ""
    """Text of several lines with the correction."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ManifestError(ProblemsError):
    """A manifest cannot be used."""


class SpecError(ProblemsError):
    """An Experiment read from the API server cannot be used."""


def quoted(value: object) -> str:
    """Return ``value`` for a message: shortened and escaped; of a container only its kind."""
    if isinstance(value, str):
        short = value if len(value) <= _MAX_QUOTED else value[:_MAX_QUOTED] + "…"
        return ascii(short) if not short.isprintable() else repr(short)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a huge number"
    if value is None:
        return "nothing"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return f"a {type(value).__name__}"


def path(parts: Sequence[str | int]) -> str:
    """Return ``spec.types.Workers[0].count``; a part that is not a plain word is put in brackets and quotes."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif len(part) <= _MAX_KEY and part.isascii() and part.replace("-", "").replace("_", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f"[{quoted(part)}]"
    return text


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice a person most likely meant by ``word``, if one is near enough."""
    known = list(choices)
    short = word[:_MAX_KEY]
    for choice in known:
        if choice.lower() == short.lower():
            return choice
    close = difflib.get_close_matches(short, known, n=1, cutoff=0.6)
    return close[0] if close else None


def bounded(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the first ``MAX_PROBLEMS`` by line and column, and the number of the others."""
    ordered = sorted(problems, key=lambda problem: (problem.line, problem.column))
    if len(ordered) <= MAX_PROBLEMS:
        return tuple(ordered)
    last = ordered[MAX_PROBLEMS - 1]
    rest = len(ordered) - MAX_PROBLEMS + 1
    more = Problem(last.file, last.line, last.column, "", f"{rest} more problems follow", "fix the ones above first")
    return (*ordered[: MAX_PROBLEMS - 1], more)
