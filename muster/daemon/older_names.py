"""Names that settings had in older releases.

They are read wherever the new ones are: as a flag, in the environment and in the file. Each gives a
``DeprecationWarning`` that names both, which musterd logs when it starts.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_settings import EnvSettingsSource, YamlConfigSettingsSource

OLDER: Final[Mapping[str, str]] = {"foreign_kinds": "run_kinds", "observe_kinds": "watch_kinds"}
"""The new name of each setting by its older one."""


def new_flags(arguments: Iterable[str]) -> Iterator[str]:
    """The arguments with the new names of flags."""
    for word in arguments:
        flag, equals, value = word.partition("=")
        older = flag.removeprefix("--").replace("-", "_")
        if flag.startswith("--") and older in OLDER:
            new = f"--{OLDER[older].replace('_', '-')}"
            _warn(flag, new)
            yield f"{new}{equals}{value}"
        else:
            yield word


class Environment(EnvSettingsSource):
    """The environment."""

    def __call__(self) -> dict[str, Any]:
        """What it says; a new name wins."""
        found = {}
        for older, new in OLDER.items():
            value = self.env_vars.get(f"{self.env_prefix}{older}".lower())
            if value is not None:
                _warn(f"{self.env_prefix}{older}".upper(), f"{self.env_prefix}{new}".upper())
                found[new] = value
        return {**found, **super().__call__()}


class File(YamlConfigSettingsSource):
    """The file."""

    def __call__(self) -> dict[str, Any]:
        """What it says; a new name wins."""
        found = super().__call__()
        for older in OLDER.keys() & found.keys():
            _warn(older, OLDER[older])
            found.setdefault(OLDER[older], found[older])
            del found[older]
        return found


def _warn(older: str, new: str) -> None:
    warnings.warn(f"{older} has a new name: write {new}", DeprecationWarning, stacklevel=3)
