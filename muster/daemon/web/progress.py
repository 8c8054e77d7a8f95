"""The progress endpoint: takes the status that members send, by Kubeflow's protocol (KEP-2779).

One POST, one path, TLS only. A pod reports for its own rank of its own run, in the running epoch (``reviews``);
nothing else is served here. The work that a pod can cause is bounded: a body has at most ``MAX_BODY`` bytes and
``BODY`` seconds, and its connection makes room for others meanwhile; one report of a pod counts in a second, and it has
two posts at once; its token is reviewed once in minutes, eight at a time; an address has a share of the waiting posts
(``Senders``); and ``PER_SECOND`` handshakes begin in a second, address by address, because they are the most expensive
part of a post. The report of a peer that loses its connection here for lack of room is lost (``members.unheard``).

A sender has no name before the API server has reviewed its token, so until then the bounds are those of its address:
refused tokens, and posts that wait for a review. A token names its owner and its audience: one that cannot be for this
run is refused without a review, also by a standby.

A standby forwards a post to the leader, whose address is an annotation of the Lease. A leader that has just lost its
Lease does not forward what a standby sent: a post is forwarded once. The standby names the address that the post came
from, and proves with the key of the certificate, which all daemons have, that it is one: posts count against their own
address, and not against the standby.
"""

import asyncio
import hmac
import re
import ssl
from base64 import urlsafe_b64decode
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Final, Protocol

import aiohttp
import msgspec
import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from muster.api.progress import MAX_BODY, audience
from muster.daemon.experiments.sent import PodIdentity, PostRefused
from muster.daemon.web.connections import Limits, Listener
from muster.daemon.web.readers import token_of
from muster.daemon.web.reviews import DENIED, REFUSALS, InUse, PodTokens, Remembered, ReviewFailed

log = structlog.get_logger()

OF_ADDRESS: Final = 8
"""Most posts of one address whose tokens are reviewed, or which are forwarded, at the same time."""
OF_POD: Final = 2
"""Most posts of one pod at the same time. Each is read after the one before it, and counts once in a second."""


class _Claims(msgspec.Struct):
    aud: str | list[str] = ""


_decoder = msgspec.json.Decoder(_Claims)


def is_for(token: str, audience: str) -> bool:
    """Return True if the token names that audience. Nothing is verified here: the API server does that."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return False
    try:
        claims = _decoder.decode(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return False
    return audience == claims.aud if isinstance(claims.aud, str) else audience in claims.aud


class Senders:
    """The counts of requests by address and pod; ``clock`` is monotonic.

    ``lost`` is called with an address that has its share, because one of its reports may be lost.
    """

    def __init__(self, clock: Callable[[], float], lost: Callable[[str], None]) -> None:
        self._lost = lost
        self._refusals = Remembered[str, int](clock)
        self._asking, self._posting = InUse(), InUse()

    def refused(self, address: str) -> None:
        """Count a refused token from that address."""
        self._refusals.put(address, (self._refusals.get(address) or 0) + 1, DENIED)

    def asking(self, address: str) -> AbstractContextManager[None]:
        """Count a post from that address while it waits for another server. Raises ``PostRefused``."""
        refused = (self._refusals.get(address) or 0) >= REFUSALS
        if refused or self._asking[address] >= OF_ADDRESS:
            self._lost(address)
        if refused:
            raise PostRefused(429, "TooManyRequests", f"{REFUSALS} tokens from this address were refused: wait.")
        full = PostRefused(429, "TooManyRequests", f"{OF_ADDRESS} posts from this address wait already.")
        return self._asking.taking({address: OF_ADDRESS}, full)

    def posting(self, uid: str) -> AbstractContextManager[None]:
        """Count a post of that pod while its body is read. Raises ``PostRefused``."""
        full = PostRefused(429, "TooManyRequests", f"{OF_POD} posts of this pod are read already.")
        return self._posting.taking({uid: OF_POD}, full)


MEMBERS = Limits(connections=512, per_peer=64, first_request=5.0, idle=5.0, answer=10.0)
"""The limits of the listener for members. Members on one node may share an address."""
PER_SECOND = 200.0
"""Handshakes a second: refused posts take at most a third of a core (1.4 ms each were measured, ADR 68)."""
BODY: Final = 2.0
"""Seconds within which a body must have come."""
PASSED_ON = "X-Muster-Passed-On"
"""Header of what a standby forwards. Of a post it has the address that it came from, and a proof (``_proof``)."""
PASS_ON_WITHIN = 4.0
"""Seconds to forward a post: transformers waits for five."""
AGAIN = "2"
"""Seconds after which a post may be sent again."""
_PATH = re.compile(
    r"/apis/trainer\.kubeflow\.org/v1alpha1/namespaces/([a-z0-9][-a-z0-9]{0,62})/trainjobs/([a-z0-9][-a-z0-9.]{0,252})/status"
)


class _Members(Protocol):
    @property
    def leading(self) -> bool: ...

    @property
    def leader_address(self) -> str: ...

    def reported(self, namespace: str, name: str, pod: PodIdentity, body: bytes, address: str) -> None: ...

    def unheard(self, address: str) -> None: ...


class StatusServer(Listener):
    """The server of the endpoint. ``members`` is the daemon: ``reported`` raises ``PostRefused``.

    ``trust`` verifies the certificate of another musterd, for the name in it. ``key`` reads what daemons share and
    nobody else has.
    """

    def __init__(
        self,
        members: _Members,
        tokens: PodTokens,
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext,
        trust: ssl.SSLContext,
        named: str,
        key: Callable[[], bytes],
        observe: Callable[[str], None] = lambda _outcome: None,
        limits: Limits = MEMBERS,
    ) -> None:
        super().__init__(self._respond, host, port, limits, tls, per_second=PER_SECOND, refused=members.unheard)
        self._key = key
        self._senders = Senders(lambda: asyncio.get_running_loop().time(), members.unheard)
        self._members = members
        self._tokens = tokens
        self._trust = trust
        self._named = named
        self._observe = observe
        self._client: aiohttp.ClientSession | None = None
        self._silent = ""
        """The address of the last leader that did not answer."""

    async def stop(self) -> None:
        """Stop listening, and close the client that forwards posts."""
        await super().stop()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _respond(self, request: web.BaseRequest) -> web.Response:
        try:
            response = await self._answer_to(request)
        except PostRefused as refused:
            response = _failure(refused)
        self._observe(_OUTCOMES.get(response.status, "refused"))
        response.force_close()
        return response

    async def _answer_to(self, request: web.BaseRequest) -> web.Response:
        found = _PATH.fullmatch(request.raw_path)
        if found is None:
            raise PostRefused(404, "NotFound", "Only the status of a run is taken here.")
        if request.method != "POST":
            raise PostRefused(405, "MethodNotAllowed", "Only POST is answered here.")
        if (request.content_length or 0) > MAX_BODY:
            raise PostRefused(413, "RequestEntityTooLarge", f"A status has at most {MAX_BODY} bytes.")
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise PostRefused(415, "UnsupportedMediaType", "A status is sent as it is, without compression.")
        authorization = request.headers.getall("Authorization", [])
        token = token_of(authorization)
        if token is None or not authorization[0].lower().startswith("bearer "):
            raise PostRefused(401, "Unauthorized", "A token of the member's pod is needed.")
        namespace, name = found[1], found[2]
        if not is_for(token, audience(namespace, name)):
            raise PostRefused(403, "Forbidden", "The token is not for the members of that run.")
        address, passed_on = self._origin(request, token)
        if not self._members.leading:
            if passed_on:
                raise PostRefused(503, "ServiceUnavailable", "No musterd leads, as far as this one knows.")
            with self._senders.asking(address):
                return await self._pass_on(request, token, address)
        try:
            with self._senders.asking(address):
                pod = await self._tokens.pod(token, audience(namespace, name))
        except ReviewFailed:
            self._members.unheard("")
            raise PostRefused(503, "ServiceUnavailable", "The token cannot be checked now.") from None
        if pod is None or pod.namespace != namespace:
            self._senders.refused(address)
            raise PostRefused(403, "Forbidden", "The token is not one of a member of that run.")
        with self._senders.posting(pod.uid):
            body = await self._body(request)
        if not self._members.leading:
            raise PostRefused(503, "ServiceUnavailable", "Another musterd leads since a moment ago.")
        self._members.reported(namespace, name, pod, body, address)
        return web.Response(body=b"{}", content_type="application/json")

    def _origin(self, request: web.BaseRequest, token: str) -> tuple[str, bool]:
        """Return the address that a post comes from, and whether a standby has forwarded it."""
        stated = request.headers.get(PASSED_ON)
        if stated is not None:
            address, _, proof = stated.partition(" ")
            with suppress(OSError):
                if hmac.compare_digest(proof.encode(), _proof(self._key(), address, token).encode()):
                    return address, True
        return request.remote or "", stated is not None

    async def _body(self, request: web.BaseRequest) -> bytes:
        """Read the body. Raises ``PostRefused`` for one that is too long, too slow or incomplete."""
        read = bytearray()
        try:
            with self.awaits(request):
                async with asyncio.timeout(BODY):
                    async for chunk in request.content.iter_any():
                        read += chunk
                        if len(read) > MAX_BODY:
                            raise PostRefused(413, "RequestEntityTooLarge", f"A status has at most {MAX_BODY} bytes.")
        except TimeoutError:
            raise PostRefused(408, "Timeout", f"A status must have come within {BODY:g} s.") from None
        except (web.PayloadAccessError, web.RequestPayloadError, aiohttp.ClientError, OSError, HttpProcessingError):
            raise PostRefused(400, "BadRequest", "The body ended before it was complete, or is none.") from None
        return bytes(read)

    async def _pass_on(self, request: web.BaseRequest, token: str, origin: str) -> web.Response:
        address = self._members.leader_address
        if not address:
            raise PostRefused(503, "ServiceUnavailable", "No musterd leads, as far as this one knows.")
        body = await self._body(request)
        if self._client is None:
            connector = aiohttp.TCPConnector(limit=32, force_close=True)
            self._client = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            headers[PASSED_ON] = f"{origin} {_proof(self._key(), origin, token)}"
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
                self._silent = ""
                if answer.status == 403:
                    self._senders.refused(origin)
                return web.Response(
                    status=answer.status, body=await answer.content.read(4096), content_type="application/json"
                )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if self._silent != address:
                log.warning("the leader takes no report", address=address, error=str(error) or "no answer in time")
            self._silent = address
            raise PostRefused(503, "ServiceUnavailable", "The musterd that leads does not answer.") from None


_OUTCOMES = {200: "accepted", 503: "unavailable", 429: "too-many"}


def _proof(key: bytes, address: str, token: str) -> str:
    """Return the proof that a daemon has forwarded a post from that address."""
    return hmac.digest(key, f"{address}\n{token}".encode(), "sha256").hex()


def _failure(refused: PostRefused) -> web.Response:
    """Return a Status of Kubernetes, as Kubeflow's endpoint answers."""
    document = {"status": "Failure", "message": str(refused), "reason": refused.reason, "code": refused.status}
    response = web.Response(status=refused.status, body=msgspec.json.encode(document), content_type="application/json")
    if refused.status in (429, 503):
        response.headers["Retry-After"] = AGAIN
    return response
