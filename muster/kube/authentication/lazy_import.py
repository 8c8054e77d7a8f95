"""Imports kubernetes_asyncio without the 950 modules that are not used here.

Importing any part of it imports all of it: the ``__init__`` files of its packages load every generated API class and
every model, 37 MB of the daemon's budget of 80. Only its configuration and authentication are needed, which use two
classes of the generated client. It imports urllib3 too, which it does not use for a request.

So three of its packages and urllib3 are put into ``sys.modules`` before the first import, with their ``__init__``
deferred. A
submodule is imported as usual, the two classes come from the files that define them, and the first use of any other
name runs the deferred ``__init__``. Other code that imports kubernetes_asyncio finds the complete package.
"""

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_PACKAGES: dict[str, dict[str, str]] = {
    "urllib3": {},
    "kubernetes_asyncio": {},
    "kubernetes_asyncio.client": {
        "ApiClient": "kubernetes_asyncio.client.api_client",
        "Configuration": "kubernetes_asyncio.client.configuration",
    },
    "kubernetes_asyncio.client.models": {},
}
"""The packages to defer, parents first, with the names that do not load them and the modules that define those."""

_LOADING = ("__version__", "__all__")


class _Deferred(ModuleType):
    """A package whose ``__init__`` runs at the first use of a name that only it defines."""

    def __getattr__(self, name: str) -> Any:
        home = _PACKAGES.get(self.__name__, {}).get(name)
        if home is not None:
            return getattr(import_module(home), name)
        if name.startswith("__") and name not in _LOADING:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if find_spec(f"{self.__name__}.{name}") is not None:
            return import_module(f"{self.__name__}.{name}")
        self.__class__ = ModuleType  # type: ignore[assignment]  # from here on an ordinary package
        assert self.__spec__ is not None
        assert self.__spec__.loader is not None
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def defer_kubernetes_asyncio() -> None:
    """Make ``import kubernetes_asyncio...`` cheap from now on. Does nothing if it has been imported already."""
    if "kubernetes_asyncio" in sys.modules:
        return
    for name in _PACKAGES:
        if name in sys.modules:
            continue
        parent, _, child = name.rpartition(".")
        spec = PathFinder.find_spec(name, sys.modules[parent].__path__ if parent else None)
        if spec is None:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)
        module = module_from_spec(spec)
        module.__class__ = _Deferred
        sys.modules[name] = module
        if parent:
            setattr(sys.modules[parent], child, module)
