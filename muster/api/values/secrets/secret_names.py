"""Removes the values of named variables from words: ``NAME=value``, ``NAME: value``, ``'NAME': 'value'``.

``env``, ``os.environ``, its items and JSON print them so, and settings of pydantic, with the name in lower case. After
``NAME=`` at the beginning of a line, as ``env`` prints it, the rest of the line is the value. A value that was removed
is not looked at again, so the time is linear in the text.
"""

import re
from collections.abc import Collection
from typing import Final

from muster.api.values.secrets.credentials import REMOVED

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_LINE_BEGINS: Final = re.compile(r"(?:\A|[\r\n])[ \t]{0,8}(?:export[ \t]{1,4})?\Z")
_BEFORE: Final = 24
"""Characters before a name in which its line may begin: more than the pattern has."""
_BETWEEN: Final = re.compile(
    r"(?:\\{0,3}[\"'\]]){0,2}\s{0,4}(?::=|=>|->|=|:|%3[AaDd])\s{0,4}"
    r"|\\{0,3}[\"']\s{0,4},\s{0,4}(?=b?\\{0,3}[\"'])"
)
_QUOTED: Final = (
    r"(?P<escaped>b?\\+[\"'])[^\"'\\]*|(?P<double>b?\")(?:[^\"\\]|\\.)*|(?P<single>b?')(?:[^'\\]|\\.)*|(?P<bare>)"
)
_VALUE: Final = re.compile(_QUOTED + r"[^\s\"',;&)}\]]+", re.DOTALL)
_REST_OF_LINE: Final = re.compile(_QUOTED + r"[^\r\n]+", re.DOTALL)


def without_named(text: str, names: Collection[str], prefixes: tuple[str, ...] = ()) -> str:
    """The text with ``[removed]`` for values of variables of these names, or whose names begin so (lower case)."""
    if not names and not prefixes:
        return text
    kept, at, last = list[str](), 0, 0
    while found := _NAME.search(text, at):
        at = found.end()
        name = found[0].strip("-.").lower()
        if not any(each in names or each.startswith(prefixes) for each in (name, name.rpartition(".")[2])):
            continue
        if (between := _BETWEEN.match(text, at)) is None:
            continue
        line = _LINE_BEGINS.search(text[max(0, found.start() - _BEFORE) : found.start()])
        value = (_REST_OF_LINE if line and between[0] == "=" else _VALUE).match(text, between.end())
        if value is not None:
            opened = value["escaped"] or value["double"] or value["single"] or ""
            kept += [text[last : value.start()], opened, REMOVED]
            at = last = value.end()
    return "".join((*kept, text[last:]))
