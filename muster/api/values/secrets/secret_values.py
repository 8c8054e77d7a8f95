"""Removes the values of a pod's own secrets from the words of its program, before any sentence or Event has them.

A value is a secret if the name of its variable marks it, or if it is a URL with a password, and it is long enough and
not a usual word, path or number: those are in many texts. A value is found although line breaks cut it, as in a key of
many lines or a text that was wrapped, in the forms in which programs print it (``repr``, JSON, quoted in a URL, base64,
also of a longer text such as ``user:value``), and at the ends of a text although a part of it was cut off. The time is
linear in the text, for each form of a value.

What is taken from a Secret by reference has no value here, but a name: values of named variables are removed, too, as
in ``NAME=value``, ``NAME: value``, ``'NAME': 'value'``. ``env``, ``os.environ``, its items and JSON print them so, and
settings of pydantic, with the name in lower case. After ``NAME=`` at the beginning of a line, as ``env`` prints it, the
rest of the line is the value. A value that was removed is not looked at again, so the time is linear in the text.
"""

import json
import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate
from typing import Final
from urllib.parse import unquote, urlsplit

from muster.api.values.secrets.credentials import REMOVED, is_secret_name

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
    """Return the text with ``[removed]`` for values of variables with these names or prefixes (lower case)."""
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


SHORTEST: Final = 8
"""Characters: a shorter value may be a part of any text."""
LONGEST: Final = 4_096
"""Characters of a value that are looked for: a text that is looked through has no more."""
MOST: Final = 256
"""Forms of values that are looked for."""
MOST_CHARACTERS: Final = 1 << 19
"""Characters of all forms together: so many forms have 2,048 each."""
_USUAL: Final = re.compile(
    r"(?i:[a-z]{1,15}|[0-9.,:_-]{1,15}|[./~][\w./-]*|[\w-]{1,60}\.(?:json|ya?ml|toml|txt|pem|key))"
)
"""A word, a number, a path or a file: no secret, or not distinct from a usual word."""
_BREAKS: Final = re.compile(r"[\r\n]+")
_PLAIN: Final = re.compile(r"[^\r\n]")
_IN_URL: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^\r\n]")
"""A character of a text, and of one that is quoted as in a URL."""
_URL_SAFE: Final = str.maketrans("+/", "-_")


def secrets_in(environment: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the values of secrets in these variables, each in the forms in which a program prints it."""
    found: dict[str, None] = {}
    encoded: dict[str, None] = {}
    for name, value in environment:
        for secret in (value,) if is_secret_name(name) else _passwords(value):
            if len(secret) >= SHORTEST and not _USUAL.fullmatch(secret.strip()) and "$(" not in secret:
                found |= dict.fromkeys(_forms(secret[:LONGEST]))
                encoded |= dict.fromkeys(_in_base64(secret[:LONGEST]))
    forms = found | encoded
    fitting = sum(length <= MOST_CHARACTERS for length in accumulate(map(len, forms)))
    return tuple(forms)[: min(fitting, MOST)]


def without_values(text: str, values: Collection[str]) -> str:
    """Return the text with ``[removed]`` for values of ``secrets_in``, and for parts of one at its beginning or end."""
    readings = (_PLAIN, _IN_URL) if "%" in text else (_PLAIN,)
    spans = sorted(span for character in readings for span in _found(text, values, character))
    kept, end = list[str](), 0
    for first, last in spans:
        if first >= end:
            kept += [text[end:first], REMOVED]
        end = max(end, last)
    return "".join((*kept, text[end:]))


def _found(text: str, values: Collection[str], character: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the places of the values in the text, whose characters are read so."""
    each = character.findall(text) if values else []
    read = "".join(chr(int(one[1:], 16)) if len(one) > 1 else one for one in each)
    spans = [span for value in values for span in _spans(read, value)]
    at = [match.span() for match in character.finditer(text)] if spans else []
    return [(at[first][0], at[last - 1][1]) for first, last in spans]


def _spans(text: str, value: str) -> Iterator[tuple[int, int]]:
    if len(value) < SHORTEST:
        return
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + len(value))
    begins = text.removeprefix("…")[:SHORTEST]
    if len(begins) == SHORTEST and (at := value.find(begins)) > 0 and (rest := value[at:]):
        start = len(text) - len(text.removeprefix("…"))
        if text.startswith(rest, start):
            yield start, start + len(rest)
    ended = text.removesuffix("…")
    if (at := ended.rfind(value[:SHORTEST])) >= 0 and value.startswith(ended[at:]):
        yield at, len(ended)


def _in_base64(value: str) -> Iterator[str]:
    """Yield the part that the base64 of every text with the value has, for each of the three places in it."""
    raw = value.encode(errors="replace")
    for before in range(3):
        whole = b64encode(bytes(before) + raw).decode()
        inner = whole[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        yield inner
        yield inner.translate(_URL_SAFE)


def _forms(value: str) -> tuple[str, ...]:
    lines = [line.strip() for line in _BREAKS.split(value)] if "\n" in value else []
    bare = _BREAKS.sub("", value)
    read = bare.encode(errors="replace").decode("latin-1")  # where it was quoted in a URL
    return (
        bare,
        value.encode("unicode_escape").decode(),
        json.dumps(value)[1:-1],
        read,
        read.replace(" ", "+"),
        *(line for line in lines if len(line) >= 2 * SHORTEST),
    )


def _passwords(value: str) -> tuple[str, ...]:
    if "://" not in value or "@" not in value:
        return ()
    try:
        password = urlsplit(value).password or ""
    except ValueError:
        return ()
    return password, unquote(password)
