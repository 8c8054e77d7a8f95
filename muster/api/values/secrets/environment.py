"""The secrets in the environment of a pod: values, and names of variables whose values only the kubelet knows.

A variable with ``valueFrom.secretKeyRef`` has a name and no value; of ``envFrom.secretRef`` only the prefix is known.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from muster.api.values.secrets.credentials import without_credentials
from muster.api.values.secrets.secret_values import secrets_in, without_named, without_values

MOST_NODES: Final = 10_000
"""Mappings and lists of a spec that are looked through."""
MOST_NAMES: Final = 1_024
MOST_PREFIXES: Final = 64


class Secrets(NamedTuple):
    """Secrets that are removed from the words of a pod's programs."""

    values: tuple[str, ...] = ()
    """In the forms in which programs print them."""
    names: frozenset[str] = frozenset()
    """Names of the variables whose values come from a Secret, in lower case."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of the variables of a whole Secret, in lower case."""


NO_SECRETS: Final = Secrets()


def without_secrets(text: str, secrets: Secrets = NO_SECRETS) -> str:
    """Return the text without these secrets, and without what looks like a credential."""
    bare = without_values(text, secrets.values)
    return without_credentials(without_named(bare, secrets.names, secrets.prefixes))


def secrets_of(*specs: Any) -> Secrets:
    """Return the secrets of the containers of pods (core/v1 PodSpec as JSON), which may be of any form."""
    return _secrets(
        container
        for spec in specs
        if isinstance(spec, Mapping)
        for field in ("containers", "initContainers")
        for container in _mappings(spec.get(field))
    )


def secrets_within(spec: Any) -> Secrets:
    """Return the secrets of every environment in a spec of any kind, wherever its pod templates are."""
    return _secrets(_holders(spec))


def _holders(spec: Any) -> Iterator[Mapping[str, Any]]:
    waits, seen = [spec], 0
    while waits and seen < MOST_NODES:
        each, seen = waits.pop(), seen + 1
        if isinstance(each, Mapping):
            if "env" in each or "envFrom" in each:
                yield each
            waits += [inner for inner in each.values() if isinstance(inner, Mapping | list)]
        elif isinstance(each, list):
            waits += [inner for inner in each[:MOST_NODES] if isinstance(inner, Mapping | list)]


def _secrets(holders: Iterable[Mapping[str, Any]]) -> Secrets:
    given: list[tuple[str, str]] = []
    names: dict[str, None] = {}
    prefixes: dict[str, None] = {}
    for holder in holders:
        for one in _mappings(holder.get("env")):
            name, value, source = one.get("name"), one.get("value"), one.get("valueFrom")
            if isinstance(name, str) and isinstance(value, str):
                given.append((name, value))
            elif isinstance(name, str) and isinstance(source, Mapping) and "secretKeyRef" in source:
                names[name.lower()] = None
        for one in _mappings(holder.get("envFrom")):
            prefix = one.get("prefix")
            if "secretRef" in one and isinstance(prefix, str) and prefix:
                prefixes[prefix.lower()] = None
    return Secrets(secrets_in(given), frozenset(list(names)[:MOST_NAMES]), tuple(prefixes)[:MOST_PREFIXES])


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
