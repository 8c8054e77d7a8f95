"""Which cluster, and as whom: kubernetes-asyncio reads the kubeconfig, and nothing global is touched.

Looked for in this order: the path given, ``$KUBECONFIG``, ``~/.kube/config``, then the service account of the pod
this runs in. Importing kubernetes-asyncio takes most of a second, so it happens only here and only when a cluster is
really wanted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from muster.client.errors import NoCluster
from muster.client.reading import mapping, text

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

DEFAULT_KUBECONFIG = Path("~/.kube/config")
MALFORMED = (AssertionError, AttributeError, KeyError, TypeError, ValueError)
"""What the loader meets in a file that is YAML but no kubeconfig."""

SERVICE_ACCOUNT_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class Access:
    """A cluster's address and credentials, and the namespace its context names."""

    configuration: Configuration
    namespace: str
    source: str
    """Where this comes from, for messages."""


def kubeconfig_files(given: Path | None) -> str:
    """The kubeconfig to read (several, joined by ``:``, when the environment says so); empty where there is none."""
    if given is not None:
        return str(given.expanduser())
    if named := os.environ.get("KUBECONFIG"):
        return named
    default = DEFAULT_KUBECONFIG.expanduser()
    return str(default) if default.exists() else ""


async def find_access(kubeconfig: Path | None = None, context: str | None = None) -> Access:
    """Read the configuration. Raises ``NoCluster`` with what to do about it."""
    from kubernetes_asyncio import config
    from kubernetes_asyncio.client import Configuration

    configuration = Configuration()
    configuration.connection_pool_maxsize = (
        0  # every followed log holds a connection; a full pool would block in silence
    )
    files = kubeconfig_files(kubeconfig)
    if not files:
        if "KUBERNETES_SERVICE_HOST" not in os.environ:
            raise NoCluster(
                "no cluster to talk to: there is no kubeconfig; set KUBECONFIG, pass --kubeconfig FILE, "
                "or start a cluster on this machine with `muster local up`"
            )
        try:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except config.ConfigException as error:
            raise NoCluster(f"the service account of this pod cannot be used: {error}") from error
        return Access(configuration, _own_namespace(), "the pod's service account")
    if not _some_exist(files):
        raise NoCluster(f"there is no kubeconfig at {files}; name one with --kubeconfig or KUBECONFIG")
    try:
        loader = await config.load_kube_config(
            config_file=files, context=context, client_configuration=configuration, persist_config=False
        )
    except (config.ConfigException, yaml.YAMLError, OSError, *MALFORMED) as error:
        raise NoCluster(f"kubeconfig {files} cannot be used: {error}") from error
    current = mapping(mapping(loader.current_context).get("context"))
    return Access(configuration, text(current, "namespace") or "default", files)


def _some_exist(files: str) -> bool:
    return any(Path(file).expanduser().exists() for file in files.split(os.pathsep))


def _own_namespace() -> str:
    try:
        return SERVICE_ACCOUNT_NAMESPACE.read_text(encoding="utf-8").strip() or "default"
    except OSError:
        return "default"
