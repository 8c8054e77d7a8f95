"""An admission webhook of a test's own: it denies, times out, is slow, or is not there.

A webhook that denies without a code is answered as 400 by the API server, one with a code by that code.
"""

import asyncio
import base64
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from typing import Literal

import pytest
import trustme
from aiohttp import web

from muster.cli.processes.stack import free_port
from tests.real.namespace import eventually, trial
from tests.real.site import Site

TIMEOUT = 3
DELAY = 2.5
Behaviour = Literal["deny", "deny without code", "down", "slow", "delay"]
NAME = "pods.real.test"


@contextlib.asynccontextmanager
async def webhook(here: Site, behaviour: Behaviour) -> AsyncIterator[None]:
    """Register it for the creation of pods in the test's namespace; returns when the API server asks it."""
    if not here.ground.own:
        pytest.skip("the API server of KUBECONFIG need not reach a webhook of this machine")
    authority = trustme.CA()
    async with contextlib.AsyncExitStack() as stack:
        port = free_port()
        if behaviour != "down":
            port = await stack.enter_async_context(_server(authority, behaviour))
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        await here.request("POST", path, _configuration(here.namespace, port, authority, behaviour))
        try:
            await eventually(lambda: _in_force(here))
            yield
        finally:
            await here.request("DELETE", f"{path}/{here.namespace}")


@contextlib.asynccontextmanager
async def _server(authority: trustme.CA, behaviour: Behaviour) -> AsyncIterator[int]:
    connections: set[asyncio.Transport] = set()

    async def answer(request: web.Request) -> web.Response:
        if request.transport is not None:
            connections.add(request.transport)
        uid = (await request.json())["request"]["uid"]
        if behaviour == "slow":
            await asyncio.sleep(TIMEOUT + 2)
        if behaviour == "delay":
            await asyncio.sleep(DELAY)
        code = {"code": 403} if behaviour == "deny" else {}
        status = {"allowed": behaviour == "delay", "status": {"message": "not on Sundays", **code}}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": uid, **status}}
        return web.json_response(review)

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
        for connection in connections:  # closed, it waits for the API server's end of TLS, beyond the end of the test
            connection.abort()


def _configuration(namespace: str, port: int, authority: trustme.CA, behaviour: Behaviour) -> dict[str, object]:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    client = {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(authority.cert_pem.bytes()).decode()}
    hook = {
        "name": NAME,
        "rules": rules,
        "clientConfig": client,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 10 if behaviour == "delay" else TIMEOUT,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [hook],
    }


async def _in_force(here: Site) -> bool:
    began = time.monotonic()
    said = await here.refusal(trial())
    return NAME in said if said else time.monotonic() - began > DELAY
