"""Access to an API server from files: a kubeconfig, or the service account of the pod of this process.

kubernetes_asyncio reads both. It does not notice when they change, so a source can be read again at any time and names
the files to check. The configuration is always an explicit object: kubernetes_asyncio's global default is shared by
every client in the process.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import yaml

from muster.api.errors import ApiError
from muster.kube.authentication.credentials import CONFIGURATION, ClusterAccess, Source, environment_proxy

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
    """Make ``import kubernetes_asyncio...`` cheap from now on. Does nothing if it has been imported already.

    An import of any part of kubernetes_asyncio imports all of it: the ``__init__`` files of its packages load every
    generated API class and every model, 950 modules and 37 MB of the daemon's budget of 80. Only its configuration and
    authentication are needed, which use two classes of the generated client. It imports urllib3 too, which it does not
    use for a request. So three of its packages and urllib3 are put into ``sys.modules`` before the first import, with
    their ``__init__`` deferred. A submodule is imported as usual, the two classes come from the files that define them,
    and the first use of any other name runs the deferred ``__init__``. Other code that imports kubernetes_asyncio finds
    the complete package.
    """
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


SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_KUBECONFIG = Path("~/.kube/config")
_SERVICE_HOST = "KUBERNETES_SERVICE_HOST"

_SHAPELESS = (TypeError, AttributeError, RecursionError)
"""Errors of kubernetes_asyncio's loaders for a file whose mapping is not that of a kubeconfig."""
_UNREADABLE = (OSError, ValueError, KeyError, AssertionError, yaml.YAMLError, *_SHAPELESS)
"""Their errors for a file that is missing or malformed."""


@dataclass(frozen=True, slots=True)
class InCluster:
    """The service account that Kubernetes mounts into each pod (token rotated hourly, CA rotated rarely)."""

    directory: Path = SERVICE_ACCOUNT

    @property
    def name(self) -> str:
        """See ``Source``."""
        return "the pod's service account"

    async def read(self) -> ClusterAccess:
        """Read token, CA and namespace; the address is in the environment. No proxy: those are for other hosts."""
        defer_kubernetes_asyncio()
        from kubernetes_asyncio.client import Configuration
        from kubernetes_asyncio.config.config_exception import ConfigException
        from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader

        configuration = Configuration()
        files = (self.directory / "token", self.directory / "ca.crt")
        loader = InClusterConfigLoader(str(files[0]), str(files[1]), try_refresh_token=False)
        try:
            loader.load_and_set(configuration)
        except (ConfigException, *_UNREADABLE) as error:
            raise ApiError(
                f"the service account in {self.directory} cannot be used: {error}; "
                "mount one (automountServiceAccountToken), or name a kubeconfig",
                reason=CONFIGURATION,
            ) from error
        try:
            namespace = (self.directory / "namespace").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            namespace = ""
        return _access(configuration, namespace, files, None)


@dataclass(frozen=True, slots=True)
class KubeConfig:
    """One kubeconfig, or several joined by ``:`` as in KUBECONFIG; ``context`` None means the current one."""

    paths: str
    context: str | None = None

    @property
    def name(self) -> str:
        """See ``Source``: the paths of the files."""
        return self.paths

    async def read(self) -> ClusterAccess:
        """Read the files; run the exec plugin or refresh the OIDC token if the context has one."""
        defer_kubernetes_asyncio()
        from kubernetes_asyncio.client import Configuration
        from kubernetes_asyncio.config.config_exception import ConfigException
        from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger

        configuration = Configuration()
        try:
            if not _any_exists(self.paths):
                raise ApiError(
                    f"there is no kubeconfig at {self.paths}; name one with --kubeconfig or KUBECONFIG",
                    reason=CONFIGURATION,
                )
            merger = KubeConfigMerger(self.paths)
            writable = all(os.access(path, os.W_OK) for path in merger.paths)
            loader = KubeConfigLoader(
                merger.config,
                active_context=self.context,
                config_base_path=None,
                config_persister=(lambda _config: merger.save_changes()) if writable else None,
            )
            await loader.load_and_set(configuration)
            files = [Path(path) for path in merger.paths] + _token_file(merger.config, loader.current_context)
            namespace = (loader.current_context or {}).get("context", {}).get("namespace")
        except (ConfigException, *_UNREADABLE) as error:
            context = f"context {self.context!r} of " if self.context else ""
            why = "it is not a kubeconfig" if isinstance(error, _SHAPELESS) else _text_of(error)
            raise ApiError(
                f"{context}the kubeconfig {self.paths} cannot be used: {why}; "
                "`kubectl config view` shows what kubectl makes of it",
                reason=CONFIGURATION,
            ) from error
        files += [
            Path(path) for path in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file) if path
        ]
        expiry = getattr(loader, "exec_plugin_expiry", None)
        proxy = configuration.proxy or environment_proxy(str(configuration.host))
        expires = expiry.timestamp() if expiry is not None else None
        return _access(configuration, str(namespace or ""), tuple(files), expires, proxy)


def kubeconfig_paths(named: Path | None, environ: Mapping[str, str]) -> str:
    """Return kubectl's files: ``named``, KUBECONFIG (several, joined by ``:``), or ``~/.kube/config``.

    Empty if there is none.
    """
    if named is not None:
        return str(named.expanduser())
    if environ.get("KUBECONFIG"):
        return environ["KUBECONFIG"]
    default = DEFAULT_KUBECONFIG.expanduser()
    return str(default) if default.exists() else ""


def users_source(named: Path | None, context: str | None, environ: Mapping[str, str]) -> Source | None:
    """Return the source of a user's program, in kubectl's order: a kubeconfig, else the pod's service account.

    None if there is neither.
    """
    if paths := kubeconfig_paths(named, environ):
        return KubeConfig(paths, context)
    return InCluster() if environ.get(_SERVICE_HOST) else None


def choose_source(kubeconfig: Path | None, context: str | None, environ: Mapping[str, str]) -> Source:
    """Return the source of a daemon: ``kubeconfig``, KUBECONFIG, the pod's service account, ``~/.kube/config``.

    The order is that of controller-runtime (pkg/client/config).
    """
    if kubeconfig is not None:
        return KubeConfig(str(kubeconfig.expanduser()), context)
    if environ.get("KUBECONFIG"):
        return KubeConfig(environ["KUBECONFIG"], context)
    if context is None and environ.get(_SERVICE_HOST):
        return InCluster()
    return KubeConfig(str(DEFAULT_KUBECONFIG.expanduser()), context)


def _token_file(merged: Any, context: Any) -> list[Path]:
    """Return the context's ``tokenFile``, which kubernetes_asyncio reads once and never again."""
    name = (context or {}).get("context", {}).get("user")
    if not name or not merged.safe_get("users"):
        return []
    entry = merged["users"].get_with_name(name, safe=True)
    if entry is None or not entry["user"].safe_get("tokenFile"):
        return []
    base = Path(entry.path).parent if entry.path else Path()
    return [base / str(entry["user"]["tokenFile"])]


def _any_exists(paths: str) -> bool:
    return any(path and Path(path).expanduser().exists() for path in paths.split(os.pathsep))


_ABSENT: Final = re.compile(r"Invalid kube-config file\. Expected object with name (\S+) in \S*/(\w+) list\Z")


def _text_of(error: Exception) -> str:
    """Return the text of an error. kubernetes_asyncio names an entry by its whole content, which may be a token."""
    text = _ABSENT.sub(r"its list of \2 has no \1", str(error))
    return re.sub(r"/\{.*\}", ", one of its entries", text, flags=re.DOTALL) or type(error).__name__


def _access(
    configuration: Any, namespace: str, files: tuple[Path, ...], expires: float | None, proxy: str | None = None
) -> ClusterAccess:
    return ClusterAccess(
        host=str(configuration.host),
        authorization=configuration.api_key.get("BearerToken") or None,
        ca_file=configuration.ssl_ca_cert,
        cert_file=configuration.cert_file,
        key_file=configuration.key_file,
        verify=configuration.verify_ssl,
        server_name=configuration.tls_server_name or None,
        proxy=proxy,
        namespace=namespace or "default",
        files=files,
        expires=expires,
    )
