"""A Kubernetes cluster in one process.

It consists of the API server, a node agent that runs pods as local processes, and the CRDs of Experiment and of the
kinds that Muster runs beside Experiments. Clients reach the API server over TLS and with a token: client-go sends no
token without TLS, and a cluster that runs commands must not be open to other users of the machine. The node agent, in
the same process, is such a client. A new certificate is made at every start, by an authority of its own that the
kubeconfig carries: nothing outside that file has to be trusted. The keys are kept in memory only.

``muster.local.home`` describes the files on disk. Objects outlive the process, pods do not: after a restart the node
agent finds the pods of the earlier process in the database and reports them failed, as a kubelet does after a reboot.
"""

import asyncio
import os
import secrets
import shutil
import ssl
import time
from contextlib import AsyncExitStack
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import trustme

from muster.api.errors import MusterError
from muster.api.schema.crd import custom_resource_definition
from muster.kinds.registry import RUN_KINDS
from muster.kube.authentication.kubeconfig import KubeConfig
from muster.local.apiserver import ApiServer
from muster.local.home import Announcement, Home, write_kubeconfig
from muster.local.node import AgentError, Isolation, NodeAgent
from muster.state.vocabulary.subject import Subject

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def run_kinds_crds() -> tuple[dict[str, Any], ...]:
    """Return a reduced CustomResourceDefinition of each kind that Muster runs beside Experiments.

    The real ones are of the kinds' controllers (that of JobSet has 800 kB). These have the names and the status
    subresource, and leave the check of the spec to Muster. They are only for clusters without the real ones.
    """
    return tuple(reduced_crd(kind.subject) for kind in RUN_KINDS.values())


def reduced_crd(subject: Subject) -> dict[str, Any]:
    """Return a CustomResourceDefinition of that kind that takes any spec and status."""
    group, version = subject.api_version.split("/")
    schema = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _OPEN,
            "status": _OPEN,
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{subject.plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": subject.kind,
                "listKind": f"{subject.kind}List",
                "plural": subject.plural,
                "singular": subject.kind.lower(),
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


HOST = "127.0.0.1"
NODE_NAME = "local"
POD_GRACE = 5.0
"""Grace period of the pods, in seconds, when the cluster is stopped."""


class ClusterFailed(MusterError):
    """The cluster could not start, or a part of it failed."""


@dataclass(slots=True, eq=False)
class Cluster:
    """One cluster on one state directory. Call ``start`` and then ``stop``, once each.

    ``workspace`` is the working directory of containers that set none, in place of the one that an image would set.
    """

    home: Home
    _: KW_ONLY
    port: int = 0
    memory_only: bool = False
    fresh: bool = False
    isolation: Isolation | None = None
    workspace: Path | None = None
    _parts: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)
    _api: ApiServer | None = field(init=False, default=None)

    async def start(self) -> Announcement:
        """Start everything; returns when pods can be created. ``Occupied`` if a cluster runs in this directory."""
        self._parts.enter_context(self.home.acquire())
        self.home.withdraw()  # files of a cluster that crashed
        self._parts.callback(self.home.withdraw)
        if self.fresh:
            self._forget()
        token = secrets.token_urlsafe(32)
        api = ApiServer(None if self.memory_only else self.home.database, token=token)
        self._parts.push_async_callback(api.stop)
        url = await self._start_api(api, token)
        kinds = api.store.resource("apiextensions.k8s.io/v1", "customresourcedefinitions")
        for crd in (custom_resource_definition(), *run_kinds_crds()):
            api.store.ensure(kinds, "", crd)
        isolation = await self._start_node(api)
        announcement = Announcement(
            pid=os.getpid(),
            url=url,
            kubeconfig=str(self.home.kubeconfig),
            state=str(self.home.path),
            isolation=isolation,
            started=time.time(),
            workspace=str(self.workspace or ""),
        )
        self.home.announce(announcement)
        self._api = api
        return announcement

    async def run_until(self, stop: asyncio.Event) -> None:
        """Return when ``stop`` is set; raise ``ClusterFailed`` if the API server or its disk fails before that."""
        assert self._api is not None
        assert self._api.collector is not None
        wanted = asyncio.create_task(stop.wait(), name="cluster-stop")
        unwritable = asyncio.create_task(self._api.failed.wait(), name="cluster-disk")
        try:
            await asyncio.wait({wanted, unwritable, self._api.collector}, return_when=asyncio.FIRST_COMPLETED)
            if self._api.failure:
                raise ClusterFailed(f"{self._api.failure}; free space on that disk and start the cluster again")
            if not stop.is_set():
                raise ClusterFailed("the API server's garbage collector ended; see its log")
        finally:
            wanted.cancel()
            unwritable.cancel()

    async def stop(self) -> None:
        """Stop the pods, then the servers, then release the directory. Safe after a ``start`` that failed."""
        await self._parts.aclose()

    async def _start_node(self, api: ApiServer) -> str:
        self.home.node.mkdir(mode=0o700, exist_ok=True)
        node = NodeAgent(
            KubeConfig(str(self.home.kubeconfig)),
            state_dir=self.home.node,
            isolation=self.isolation,
            name=NODE_NAME,
            workspace=self.workspace,
            tokens=True,
        )
        api.pods.logs = node.logs
        api.pods.commands = node
        try:
            await node.start()
        except AgentError as error:
            raise ClusterFailed(str(error)) from error
        self._parts.push_async_callback(node.stop, POD_GRACE)
        return str(node.choice)

    async def _start_api(self, api: ApiServer, token: str) -> str:
        authority, context = await asyncio.to_thread(make_certificate)
        try:
            url = await api.start(HOST, self.port, tls=context)
        except OSError as error:
            raise ClusterFailed(
                f"{HOST}:{self.port} cannot be used: {error.strerror}; choose another --port"
            ) from error
        write_kubeconfig(self.home.kubeconfig, url=url, token=token, ca=authority)
        return url

    def _forget(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.home.database.with_name(self.home.database.name + suffix).unlink(missing_ok=True)
        shutil.rmtree(self.home.node, ignore_errors=True)


HOSTS = ("localhost", "127.0.0.1", "::1")


def make_certificate() -> tuple[bytes, ssl.SSLContext]:
    """Return an authority's certificate (PEM), and the TLS settings of a server on loopback that it vouches for."""
    authority = trustme.CA(
        organization_name="muster-local", organization_unit_name="authority of one start", path_length=0
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*HOSTS, common_name="muster-local").configure_cert(context)
    return authority.cert_pem.bytes(), context
