"""Finds the pod of a projected service account token by asking the API server (TokenReview).

A token is good for one run: its audience is that run's (``muster.api.trainer_status.audience``). The API server checks
signature, life and audience, and that the pod that the token is bound to still exists; it names that pod in the review
(kubernetes: pkg/serviceaccount/claims.go, ``authentication.kubernetes.io/pod-name`` and ``-uid``). A token that is
bound to no pod is refused.

An answer is kept for ``KNOWN`` seconds. The index shows that a pod that is deleted meanwhile is no member any longer.
"""

import asyncio
import re
from collections.abc import Callable
from hashlib import sha256

import msgspec
import structlog

from muster.api.errors import ApiError, Forbidden
from muster.daemon.experiments.sent import PodIdentity
from muster.daemon.web.reviews import DENIED, REMEMBERED, TIMEOUT, TOKEN_REVIEWS, Remembered
from muster.kube.transport import Transport

log = structlog.get_logger()

KNOWN = 300.0
"""Seconds for which a token is known to belong to a pod: it lives an hour at most, and its kubelet renews it."""
AT_ONCE = 8
"""Most reviews that wait for the API server at the same time."""
WAITING = 64
"""Most posts that wait for a review; further ones are answered 503."""
COMPLAIN = 60.0
"""Seconds between two log lines about reviews that fail."""
POD_NAME, POD_UID = "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"
_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):[^:]+")


class Busy(Exception):
    """Too many posts wait for the API server, or it does not answer."""


class _User(msgspec.Struct):
    username: str = ""
    extra: dict[str, list[str]] | None = None


class _Status(msgspec.Struct):
    authenticated: bool = False
    user: _User | None = None
    audiences: list[str] | None = None


class _Review(msgspec.Struct):
    status: _Status


_decoder = msgspec.json.Decoder(_Review)


class PodTokens:
    """The reviews of pod tokens, with remembered answers; ``clock`` is monotonic."""

    def __init__(self, transport: Transport, clock: Callable[[], float]) -> None:
        self._transport = transport
        self._clock = clock
        self._pods = Remembered[bytes, PodIdentity](clock, most=4 * REMEMBERED)
        self._strangers = Remembered[bytes, bool](clock)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        self._complained_at = -COMPLAIN

    async def pod(self, token: str, audience: str) -> PodIdentity | None:
        """Return the pod of that token for that audience; None if the API server refuses it. Raises ``Busy``."""
        key = sha256(f"{audience}\n{token}".encode()).digest()
        if pod := self._pods.get(key):
            return pod
        if self._strangers.get(key):
            return None
        if self._waiting >= WAITING:
            raise Busy
        self._waiting += 1
        try:
            status = await self._ask(token, audience)
        finally:
            self._waiting -= 1
        pod = _pod(status, audience)
        if pod is None:
            self._strangers.put(key, True, DENIED)
        else:
            self._pods.put(key, pod, KNOWN)
        return pod

    async def _ask(self, token: str, audience: str) -> _Status:
        spec = {"token": token, "audiences": [audience]}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        try:
            async with self._turns:
                sent = msgspec.json.encode(body)
                answer = await self._transport.request("POST", TOKEN_REVIEWS, body=sent, timeout=TIMEOUT)
            return _decoder.decode(answer.body).status
        except (ApiError, msgspec.MsgspecError) as error:
            if self._clock() - self._complained_at >= COMPLAIN:
                self._complained_at = self._clock()
                hint = "it needs create on tokenreviews.authentication.k8s.io" if isinstance(error, Forbidden) else None
                log.warning("reports of members cannot be checked and are refused", problem=str(error), hint=hint)
            raise Busy from error


def _pod(status: _Status, audience: str) -> PodIdentity | None:
    if not status.authenticated or status.user is None or audience not in (status.audiences or ()):
        return None
    account = _ACCOUNT.fullmatch(status.user.username)
    extra = status.user.extra or {}
    name, uid = extra.get(POD_NAME), extra.get(POD_UID)
    if account is None or not name or not uid or len(name) != 1 or len(uid) != 1:
        return None
    return PodIdentity(account[1], name[0], uid[0])
