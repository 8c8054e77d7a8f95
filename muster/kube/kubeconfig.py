"""Where the way to the API server is written down: a kubeconfig, or the service account of the pod we run in.

kubernetes_asyncio reads both; what it does not do is notice when they change. So a source can be read again at any
time, and says which files to look at and when its token ends. The configuration is always an explicit object:
kubernetes_asyncio's global default is shared by every client in the process.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from muster.api.errors import ApiError
from muster.kube.lazy_import import defer_kubernetes_asyncio

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SERVICE_HOST = "KUBERNETES_SERVICE_HOST"

_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, AssertionError, yaml.YAMLError)
"""What kubernetes_asyncio's loaders let out of a file that is missing or is not what it should be."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source said: kubernetes_asyncio's ``Configuration``, the files it came from, and when it must be read
    again (wall seconds, None if it does not say)."""

    configuration: Any
    files: tuple[Path, ...]
    expires: float | None


class Source(Protocol):
    """Can be read as often as one likes."""

    async def read(self) -> Reading:
        """Read everything afresh, running credential plugins. Raises ``ApiError`` that says what to repair."""
        ...


@dataclass(frozen=True, slots=True)
class InCluster:
    """The service account that Kubernetes mounts into each pod (token rotated hourly, CA rotated rarely)."""

    directory: Path = SERVICE_ACCOUNT

    async def read(self) -> Reading:
        """Read token and CA; the address is in the environment."""
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
                reason="Configuration",
            ) from error
        return Reading(configuration, files, None)


@dataclass(frozen=True, slots=True)
class KubeConfig:
    """One kubeconfig, or several joined by ``:`` as in KUBECONFIG; ``context`` None means the current one."""

    paths: str
    context: str | None = None

    async def read(self) -> Reading:
        """Read the files, run the exec plugin or refresh the OIDC token if the context has one."""
        defer_kubernetes_asyncio()
        from kubernetes_asyncio.client import Configuration
        from kubernetes_asyncio.config.config_exception import ConfigException
        from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger

        configuration = Configuration()
        try:
            merger = KubeConfigMerger(self.paths)
            if merger.config is None:
                raise ApiError(
                    f"there is no kubeconfig at {self.paths}; name one with --kubeconfig or KUBECONFIG",
                    reason="Configuration",
                )
            writable = all(os.access(path, os.W_OK) for path in merger.paths)
            loader = KubeConfigLoader(
                merger.config,
                active_context=self.context,
                config_base_path=None,
                config_persister=(lambda _config: merger.save_changes()) if writable else None,
            )
            await loader.load_and_set(configuration)
            files = [Path(path) for path in merger.paths] + _token_file(merger.config, loader.current_context)
        except (ConfigException, *_UNREADABLE) as error:
            context = f"context {self.context!r} of " if self.context else ""
            raise ApiError(
                f"{context}the kubeconfig {self.paths} cannot be used: {error or type(error).__name__}; "
                "`kubectl config view` shows what kubectl makes of it",
                reason="Configuration",
            ) from error
        files += [
            Path(path) for path in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file) if path
        ]
        expiry = getattr(loader, "exec_plugin_expiry", None)
        return Reading(configuration, tuple(files), expiry.timestamp() if expiry is not None else None)


def _token_file(merged: Any, context: Any) -> list[Path]:
    """The context's ``tokenFile``, which kubernetes_asyncio reads once and never again."""
    name = (context or {}).get("context", {}).get("user")
    if not name or not merged.safe_get("users"):
        return []
    entry = merged["users"].get_with_name(name, safe=True)
    if entry is None or not entry["user"].safe_get("tokenFile"):
        return []
    base = Path(entry.path).parent if entry.path else Path()
    return [base / str(entry["user"]["tokenFile"])]


def choose_source(
    kubeconfig: Path | None, context: str | None, *, in_cluster: bool | None, environ: Mapping[str, str]
) -> Source:
    """What is named wins; then KUBECONFIG, then the service account of the pod we run in, then ``~/.kube/config``.

    The order is that of controller-runtime (pkg/client/config). ``in_cluster`` True or False rules the others out.
    """
    if in_cluster:
        return InCluster()
    if kubeconfig is not None:
        return KubeConfig(str(kubeconfig), context)
    if environ.get("KUBECONFIG"):
        return KubeConfig(environ["KUBECONFIG"], context)
    if in_cluster is None and context is None and environ.get(_SERVICE_HOST):
        return InCluster()
    return KubeConfig(str(Path("~/.kube/config").expanduser()), context)
