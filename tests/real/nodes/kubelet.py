"""The kubelet's part of exec and portforward: the API server passes an authorized request on to the node.

The node's status has where it listens, and that it takes WebSockets as they are (KEP-4006; so has that of a kubelet
of 1.36). Both sides show a certificate: what did not come through the API server is not answered.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from muster.cli.processes.stack import free_port
from muster.kube.resources import ResourceClient, core
from muster.local.apiserver.http import pod_subresources
from muster.local.apiserver.http.pod_subresources import PodCommands
from muster.local.node.objects import NODES

EXEC = "/exec/{namespace}/{pod}/{container}"
PORT_FORWARD = "/portForward/{namespace}/{pod}"
"""pkg/kubelet/server: the paths of the API server's requests."""
TAKES_WEB_SOCKETS = "ExtendWebSocketsToKubelet"


@asynccontextmanager
async def kubelet(
    api: ResourceClient, node: str, address: str, certificates: tuple[Path, Path, Path], commands: PodCommands
) -> AsyncIterator[None]:
    """Serve commands in pods of that node, and their ports. ``certificates``: authority, certificate and key."""

    async def run(request: web.Request) -> web.StreamResponse:
        found = request.match_info
        where = found["namespace"], found["pod"], found["container"]
        return await pod_subresources.answer_exec(request, commands, where, request.query.getall("command"))

    async def forward(request: web.Request) -> web.StreamResponse:
        namespace, pod = request.match_info["namespace"], request.match_info["pod"]
        address = (await api.get(core(namespace, "pods", pod)))["status"]["podIP"]
        # the API server hands the client's ``ports`` on as ``port`` (pkg/registry/core/pod: streamParams)
        return await pod_subresources.answer_port_forward(request, pod, address, int(request.query["port"]))

    application = web.Application(middlewares=[takes_any_answer])
    application.router.add_get(EXEC, run)
    application.router.add_get(PORT_FORWARD, forward)
    runner = web.AppRunner(application, handler_cancellation=True)  # a command ends with the connection
    await runner.setup()
    try:
        port = free_port()
        await web.TCPSite(runner, address, port, ssl_context=_tls(*certificates)).start()
        endpoints = {"kubeletEndpoint": {"Port": port}}
        status = {"daemonEndpoints": endpoints, "declaredFeatures": [TAKES_WEB_SOCKETS]}
        await api.merge(f"{NODES}/{node}/status", {"status": status})
        yield
    finally:
        await runner.cleanup()


@web.middleware
async def takes_any_answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A kubelet refuses a request that accepts JSON alone, with 406 (go-restful: jsr311.go, detectRoute)."""
    if "*/*" not in request.headers.get("Accept", "*/*"):
        return web.Response(status=406, text="406: Not Acceptable\n\nAvailable representations: ")
    return await handler(request)


def _tls(authority: Path, certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(str(certificate), str(key))
    return context
