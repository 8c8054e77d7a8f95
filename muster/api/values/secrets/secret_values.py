"""Removes the values of a pod's own secrets from the words of its program, before any sentence or Event has them.

A value is a secret where the name of its variable says so, or where it is a URL with a password, and it is long enough
and not a usual word, path or number: those are in many texts. A value is found although line breaks cut it, as in a
key of many lines or a text that was wrapped, in the forms in which programs print it (``repr``, JSON, in a URL), and at
the ends of a text although a part of it was cut off. The time is linear in the text, for each form of a value.

What is taken from a Secret by reference is not known here.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from muster.api.values.secrets.credentials import REMOVED, is_secret_name

SHORTEST: Final = 8
"""Characters: a shorter value may be a part of any text."""
LONGEST: Final = 4_096
"""Characters of a value that are looked for: a text that is looked through has no more."""
MOST: Final = 256
"""Forms of values that are looked for."""
MOST_NODES: Final = 10_000
"""Mappings and lists of a spec that are looked through."""
_USUAL: Final = re.compile(
    r"(?i:[a-z]{1,15}|[0-9.,:_-]{1,15}|[./~][\w./-]*|[\w-]{1,60}\.(?:json|ya?ml|toml|txt|pem|key))"
)
"""A word, a number, a path or a file: no secret, or one that nothing tells from a usual word."""
_BREAKS: Final = re.compile(r"[\r\n]+")


def secrets_of(spec: Any) -> tuple[str, ...]:
    """The values of secrets in the environment of a pod (core/v1 PodSpec as JSON), which may be of any form."""
    containers = [
        each
        for field in ("containers", "initContainers")
        for each in _list(spec.get(field) if isinstance(spec, dict) else None)
    ]
    pairs = [
        (one.get("name"), one.get("value"))
        for each in containers
        if isinstance(each, dict)
        for one in _list(each.get("env"))
        if isinstance(one, dict)
    ]
    return secrets_in((name, value) for name, value in pairs if isinstance(name, str) and isinstance(value, str))


def secrets_within(spec: Any) -> tuple[str, ...]:
    """The values of secrets in every environment in a spec of any kind, wherever its pod templates are."""
    pairs: list[tuple[str, str]] = []
    waits, seen = [spec], 0
    while waits and seen < MOST_NODES:
        each, seen = waits.pop(), seen + 1
        if isinstance(each, dict):
            name, value = each.get("name"), each.get("value")
            if isinstance(name, str) and isinstance(value, str):
                pairs.append((name, value))
            waits += [inner for inner in each.values() if isinstance(inner, dict | list)]
        elif isinstance(each, list):
            waits += [inner for inner in each[:MOST_NODES] if isinstance(inner, dict | list)]
    return secrets_in(pairs)


def secrets_in(environment: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The values of secrets in these variables, each in the forms in which a program prints it."""
    found: dict[str, None] = {}
    for name, value in environment:
        for secret in (value,) if is_secret_name(name) else _passwords(value):
            if len(secret) >= SHORTEST and not _USUAL.fullmatch(secret.strip()) and "$(" not in secret:
                found |= dict.fromkeys(_forms(secret[:LONGEST]))
    return tuple(found)[:MOST]


def without_values(text: str, values: Iterable[str]) -> str:
    """The text with ``[removed]`` for these values, and for a part of one at its beginning or its end."""
    bare = _BREAKS.sub("", text)
    spans = sorted(span for value in values for span in _spans(bare, _BREAKS.sub("", value)))
    if not spans:
        return text
    at = _places(text) if len(bare) < len(text) else range(len(text))
    kept, end = [], 0
    for first, last in spans:
        if first >= end:
            kept += [text[at[end - 1] + 1 if end else 0 : at[first]], REMOVED]
        end = max(end, last)
    kept.append(text[at[end - 1] + 1 :])
    return "".join(kept)


def _spans(text: str, value: str) -> Iterator[tuple[int, int]]:
    """Where the value is."""
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


def _places(text: str) -> list[int]:
    """Where each character is that is no line break."""
    return [place for place, character in enumerate(text) if character not in "\r\n"]


def _forms(value: str) -> tuple[str, ...]:
    lines = [line.strip() for line in _BREAKS.split(value)] if "\n" in value else []
    return (
        value,
        value.encode("unicode_escape").decode(),
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        *(line for line in lines if len(line) >= 2 * SHORTEST),
    )


def _passwords(value: str) -> tuple[str, ...]:
    """The password in a URL."""
    if "://" not in value or "@" not in value:
        return ()
    try:
        password = urlsplit(value).password or ""
    except ValueError:
        return ()
    return password, unquote(password)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
