"""Finds the pod of a projected service account token by asking the API server (TokenReview).

A token is good for one run: its audience is that run's (``muster.api.trainer_status.audience``). The API server checks
signature, life and audience, and that the pod that the token is bound to still exists; it names that pod in the review
(kubernetes: pkg/serviceaccount/claims.go, ``authentication.kubernetes.io/pod-name`` and ``-uid``). A token that is
bound to no pod is refused.

An answer is kept for ``KNOWN`` seconds. The index shows that a pod that is deleted meanwhile is no member any longer.
"""

import re
from collections.abc import Callable
from hashlib import sha256

from muster.daemon.experiments.sent import PodIdentity
from muster.daemon.web.reviews import DENIED, REMEMBERED, Remembered, ReviewFailed, ReviewRequests, TokenStatus
from muster.kube.transport import Transport

KNOWN = 300.0
"""Seconds for which a token is known to belong to a pod: it lives an hour at most, and its kubelet renews it."""
WAITING = 64
"""Most posts that wait for a review; further ones are answered 503."""
POD_NAME, POD_UID = "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"
_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):[^:]+")


class PodTokens:
    """The reviews of pod tokens, with remembered answers; ``clock`` is monotonic."""

    def __init__(self, transport: Transport, clock: Callable[[], float]) -> None:
        complaint = "reports of members cannot be checked and are refused"
        hint = "it needs create on tokenreviews.authentication.k8s.io"
        self._requests = ReviewRequests(transport, clock, complaint, hint)
        self._pods = Remembered[bytes, PodIdentity](clock, most=4 * REMEMBERED)
        self._strangers = Remembered[bytes, bool](clock)
        self._waiting = 0

    async def pod(self, token: str, audience: str) -> PodIdentity | None:
        """Return the pod of that token for that audience; None if it is refused. Raises ``ReviewFailed``."""
        key = sha256(f"{audience}\n{token}".encode()).digest()
        if pod := self._pods.get(key):
            return pod
        if self._strangers.get(key):
            return None
        if self._waiting >= WAITING:
            raise ReviewFailed
        self._waiting += 1
        try:
            status = await self._requests.of_token({"token": token, "audiences": [audience]})
        finally:
            self._waiting -= 1
        pod = _pod(status, audience)
        if pod is None:
            self._strangers.put(key, True, DENIED)
        else:
            self._pods.put(key, pod, KNOWN)
        return pod


def _pod(status: TokenStatus, audience: str) -> PodIdentity | None:
    if not status.authenticated or status.user is None or audience not in (status.audiences or ()):
        return None
    account = _ACCOUNT.fullmatch(status.user.username)
    extra = status.user.extra or {}
    name, uid = extra.get(POD_NAME), extra.get(POD_UID)
    if account is None or not name or not uid or len(name) != 1 or len(uid) != 1:
        return None
    return PodIdentity(account[1], name[0], uid[0])
