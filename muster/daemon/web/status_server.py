"""The progress endpoint: takes the status that members send of themselves, by Kubeflow's protocol (KEP-2779).

One POST, one path, TLS only. Who may say what: a pod reports for its own rank of the run that it is a member of, in the
epoch that runs (``pod_tokens``), and nothing else is served here. What a pod can make the daemon do is bounded: a body
has at most ``MAX_BODY`` bytes, which must have come within the time for a request; a pod is heard once a second; its
token is reviewed once in minutes, eight at a time; and connections are taken at most ``PER_SECOND`` at a time, whose
handshakes are the dearest part of a post.

A standby passes a post on to the leader, whose address is an annotation of the Lease, and a leader that has just lost
its Lease does not pass on what a standby has: a post is passed on once.
"""

import asyncio
import re
import ssl
from collections.abc import Callable
from typing import Protocol

import aiohttp
import msgspec
from aiohttp import web

from muster.api.trainer_status import MAX_BODY, audience
from muster.daemon.experiments.sent import PodIdentity, Refused
from muster.daemon.web.connections import Limits, Listener
from muster.daemon.web.pod_tokens import Busy, PodTokens
from muster.daemon.web.readers import token_of

MEMBERS = Limits(connections=512, per_peer=64, first_request=5.0, idle=5.0, answer=10.0)
"""Of the listener for members. Those of a node may share an address."""
PER_SECOND = 200.0
"""New connections a second: a handshake takes the daemon about a millisecond."""
PASSED_ON = "X-Muster-Passed-On"
"""Header of a post that a standby passes on."""
PASS_ON_WITHIN = 4.0
"""Seconds for that: transformers waits for five."""
AGAIN = "2"
"""Seconds after which a post may be sent again."""
_PATH = re.compile(
    r"/apis/trainer\.kubeflow\.org/v1alpha1/namespaces/([a-z0-9][-a-z0-9]{0,62})/trainjobs/([a-z0-9][-a-z0-9.]{0,252})/status"
)


class Members(Protocol):
    """What the endpoint asks of the daemon."""

    @property
    def leading(self) -> bool:
        """This daemon decides."""
        ...

    @property
    def leader_address(self) -> str:
        """Host and port of the endpoint of the daemon that leads; empty where none is known."""
        ...

    def reported(self, namespace: str, name: str, pod: PodIdentity, body: bytes) -> None:
        """Take in what that pod sent for that run. Raises ``Refused``."""
        ...


class StatusServer(Listener):
    """Serves the endpoint. ``trust`` verifies the certificate of another musterd, for the name in it."""

    def __init__(
        self,
        members: Members,
        tokens: PodTokens,
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext,
        trust: ssl.SSLContext,
        named: str,
        observe: Callable[[str], None] = lambda _outcome: None,
        limits: Limits = MEMBERS,
    ) -> None:
        super().__init__(self._respond, host, port, limits, tls, per_second=PER_SECOND)
        self._members = members
        self._tokens = tokens
        self._trust = trust
        self._named = named
        self._observe = observe
        self._client: aiohttp.ClientSession | None = None

    async def stop(self) -> None:
        """See ``Listener``."""
        await super().stop()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _respond(self, request: web.BaseRequest) -> web.Response:
        try:
            response = await self._answer_to(request)
        except Refused as refused:
            response = _failure(refused)
        self._observe(_OUTCOMES.get(response.status, "refused"))
        response.force_close()
        return response

    async def _answer_to(self, request: web.BaseRequest) -> web.Response:
        found = _PATH.fullmatch(request.raw_path)
        if found is None:
            raise Refused(404, "NotFound", "Only the status of a run is taken here.")
        if request.method != "POST":
            raise Refused(405, "MethodNotAllowed", "Only POST is answered here.")
        if (request.content_length or 0) > MAX_BODY:
            raise Refused(413, "RequestEntityTooLarge", f"A status has at most {MAX_BODY} bytes.")
        authorization = request.headers.getall("Authorization", [])
        token = token_of(authorization)
        if token is None or not authorization[0].lower().startswith("bearer "):
            raise Refused(401, "Unauthorized", "A token of the member's pod is needed.")
        namespace, name = found[1], found[2]
        if not self._members.leading:
            return await self._pass_on(request, token)
        try:
            pod = await self._tokens.pod(token, audience(namespace, name))
        except Busy:
            raise Refused(503, "ServiceUnavailable", "The token cannot be checked now.") from None
        if pod is None or pod.namespace != namespace:
            raise Refused(403, "Forbidden", "The token is not one of a member of that run.")
        body = await _body(request)
        if not self._members.leading:
            raise Refused(503, "ServiceUnavailable", "Another musterd leads since a moment ago.")
        self._members.reported(namespace, name, pod, body)
        return web.Response(body=b"{}", content_type="application/json")

    async def _pass_on(self, request: web.BaseRequest, token: str) -> web.Response:
        address = self._members.leader_address
        if not address or PASSED_ON in request.headers:
            raise Refused(503, "ServiceUnavailable", "No musterd leads, as far as this one knows.")
        body = await _body(request)
        if self._client is None:
            connector = aiohttp.TCPConnector(limit=32, force_close=True)
            self._client = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", PASSED_ON: "1"}
        try:
            async with (
                asyncio.timeout(PASS_ON_WITHIN),
                self._client.post(
                    f"https://{address}{request.raw_path}",
                    data=body,
                    headers=headers,
                    ssl=self._trust,
                    server_hostname=self._named,
                    allow_redirects=False,
                ) as answer,
            ):
                return web.Response(
                    status=answer.status, body=await answer.content.read(4096), content_type="application/json"
                )
        except (aiohttp.ClientError, OSError, TimeoutError):
            raise Refused(503, "ServiceUnavailable", "The musterd that leads does not answer.") from None


_OUTCOMES = {200: "accepted", 503: "unavailable", 429: "too-many"}


async def _body(request: web.BaseRequest) -> bytes:
    """The body. Raises ``Refused`` for one that is too long."""
    read = bytearray()
    async for chunk in request.content.iter_any():
        read += chunk
        if len(read) > MAX_BODY:
            raise Refused(413, "RequestEntityTooLarge", f"A status has at most {MAX_BODY} bytes.")
    return bytes(read)


def _failure(refused: Refused) -> web.Response:
    """A Status of Kubernetes, as Kubeflow's endpoint answers."""
    said = {"status": "Failure", "message": str(refused), "reason": refused.reason, "code": refused.status}
    response = web.Response(status=refused.status, body=msgspec.json.encode(said), content_type="application/json")
    if refused.status in (429, 503):
        response.headers["Retry-After"] = AGAIN
    return response
