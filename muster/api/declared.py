"""Finds the declarations of kinds: in the modules of the package ``muster.kinds``.

A framework is a folder, or one file, of that package. In a folder, declarations of one role are in the module of that
name: ``operator``, ``run``, ``watched`` or ``convert``. A file holds all that it declares. Each of these modules names
its declarations in ``DECLARED``. So a new kind is found because its module exists, and nothing lists it.

``muster.api`` checks manifests by declarations that import it. It must therefore look for them when it is asked, and
not when it is imported.
"""

from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final, TypeVar

PACKAGE: Final = "muster.kinds"

T = TypeVar("T")


@lru_cache(maxsize=32)
def declared(role: str, shape: type[T]) -> tuple[T, ...]:
    """Return all declarations of that role and type, by the names of their modules."""
    modules = (import_module(name) for name in sorted(_modules(role)))
    return tuple(each for module in modules for each in getattr(module, "DECLARED", ()) if isinstance(each, shape))


def _modules(role: str) -> Iterator[str]:
    for found in iter_modules(import_module(PACKAGE).__path__, f"{PACKAGE}."):
        if not found.ispkg:
            yield found.name
        elif any(inner.name == role for inner in iter_modules(import_module(found.name).__path__)):
            yield f"{found.name}.{role}"
