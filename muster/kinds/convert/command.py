"""The command of a container as the shell line of an Experiment.

Kubernetes starts ``command`` and ``args`` as they are, after replacing ``$(NAME)`` by a variable of the container and
``$$`` by ``$``. An Experiment has one line for the shell, in which Muster keeps ``$(NAME)`` for Kubernetes and every
other ``$`` for the shell. A word is quoted so that both get what they got before.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Final

_SHELLS: Final = ("sh", "/bin/sh")
_REFERENCE: Final = re.compile(r"\$\([-._a-zA-Z][-._a-zA-Z0-9]*\)")
"""A variable. Kubernetes leaves any other name between ``$(`` and ``)`` as it is."""
_PARTS: Final = re.compile(r"\$\$|\$\([^)]*\)")


def line_of(words: Sequence[str]) -> str:
    """Return the line that starts a program with exactly these words."""
    if len(words) == 3 and words[0] in _SHELLS and words[1] == "-c":
        return _script(words[2])
    return " ".join(map(_word, words))


def by_case(variable: str, lines: dict[str, str]) -> str:
    """Return one line for members with different lines: each runs its own by ``variable``; ``*`` is any other."""
    cases = "\n".join(f"{value if value == '*' else _word(value)})\n{line}\n;;" for value, line in lines.items())
    return f'case "${variable}" in\n{cases}\nesac'


def _script(text: str) -> str:
    return _PARTS.sub(lambda found: "$" if found[0] == "$$" else found[0], text)


def _word(word: str) -> str:
    """Return a word for the shell: references stay for Kubernetes, everything else reaches the program as it is."""
    quoted, at = "", 0
    for found in _PARTS.finditer(word):
        if _REFERENCE.fullmatch(found[0]):
            quoted += f"{_literal(word[at : found.start()])}'{found[0]}'"
            at = found.end()
    return f"{quoted}{_literal(word[at:])}" or "''"


def _literal(text: str) -> str:
    """Return quoted text without a reference of Kubernetes: the shell joins ``$`` and ``''(`` again."""
    if not text:
        return ""
    reaches = _PARTS.sub(lambda found: "$" if found[0] == "$$" else found[0], text)
    return shlex.quote(reaches).replace("$(", "$''(")
