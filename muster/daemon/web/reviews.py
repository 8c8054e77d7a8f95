"""Asks the API server who a bearer token belongs to (TokenReview) and what that user may do (SubjectAccessReview).

As in controller-runtime (pkg/metrics/filters), nothing is decided here: a user who may list Experiments of a namespace
with kubectl may read them on the page, and ``/metrics`` needs ``get`` on that non-resource URL.

Answers are kept for a short time: ``USER`` and ``ALLOWED`` bound for how long a revoked token or right still works,
``DENIED`` for how long a new right is not seen. A review without an answer denies (fail closed). A peer that sends many
tokens that are refused waits, so that it cannot use the daemon to load the API server.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from muster.api.errors import ApiError, Forbidden
from muster.api.names import GROUP, PLURAL
from muster.daemon.experiments.sent import PodIdentity
from muster.kube.transport import Transport

log = structlog.get_logger()

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

USER = 60.0
"""Seconds for which a token is known to belong to a user."""
ALLOWED = 60.0
"""Seconds for which an allowed access is not asked for again."""
DENIED = 30.0
"""Seconds for which a refused token or access is not asked for again."""

TIMEOUT = 5.0
"""Seconds for one review."""
AT_ONCE = 8
"""Most reviews that wait for the API server at the same time."""
REMEMBERED = 8192
"""Most answers of each kind that are kept; the oldest is dropped."""
REFUSALS = 20
"""Tokens of one peer that may be refused within ``DENIED`` seconds before it has to wait."""
COMPLAIN = 60.0
"""Seconds between two log lines about reviews that fail."""


Access = Mapping[str, Mapping[str, str]]
"""The access to review, as a SubjectAccessReview has it: to Experiments, or to a path."""

METRICS: Access = {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}


def experiments(verb: str, namespace: str = "", name: str = "") -> Access:
    """Return the access to Experiments, of all namespaces if ``namespace`` is empty."""
    of = {"namespace": namespace, "name": name, "verb": verb, "group": GROUP, "resource": PLURAL}
    return {"resourceAttributes": of}


class TooManyTokens(Exception):
    """The peer sent too many tokens that were refused."""


class ReviewFailed(Exception):
    """The API server did not answer a review."""


class User(msgspec.Struct, frozen=True):
    """A user as the API server knows it; ``extra`` is from its authenticator and passed on unread."""

    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class TokenStatus(msgspec.Struct):
    """The status in an answer to a TokenReview."""

    authenticated: bool = False
    user: User | None = None
    audiences: list[str] | None = None


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


S = TypeVar("S")
K = TypeVar("K")
V = TypeVar("V")


class _Review(msgspec.Struct, Generic[S]):
    status: S


_TOKEN_REVIEW = msgspec.json.Decoder(_Review[TokenStatus])
_ACCESS_REVIEW = msgspec.json.Decoder(_Review[_AccessStatus])


@dataclass(eq=False)
class ReviewRequests:
    """The requests for reviews."""

    transport: Transport
    clock: Callable[[], float]
    """A monotonic clock."""
    message: str
    """Logged with each failure."""
    hint: str
    """Logged with a denial."""
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _complained_at: float = -COMPLAIN

    async def of_token(self, spec: Mapping[str, object]) -> TokenStatus:
        """Return the status of a TokenReview. Raises ``ReviewFailed``."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        return (await self._ask(TOKEN_REVIEWS, body, _TOKEN_REVIEW)).status

    async def of_access(self, spec: Mapping[str, object]) -> bool:
        """Return the answer to a SubjectAccessReview. Raises ``ReviewFailed``."""
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        return (await self._ask(ACCESS_REVIEWS, body, _ACCESS_REVIEW)).status.allowed

    async def _ask(
        self, path: str, body: Mapping[str, object], decoder: "msgspec.json.Decoder[_Review[S]]"
    ) -> _Review[S]:
        try:
            async with self._turns:
                answer = await self.transport.request("POST", path, body=msgspec.json.encode(body), timeout=TIMEOUT)
            return decoder.decode(answer.body)
        except (ApiError, msgspec.MsgspecError) as error:
            if self.clock() - self._complained_at >= COMPLAIN:
                self._complained_at = self.clock()
                hint = self.hint if isinstance(error, Forbidden) else None
                log.warning(self.message, problem=str(error), hint=hint)
            raise ReviewFailed from error


class Reviews:
    """The reviews of readers, with remembered answers; ``clock`` is monotonic."""

    def __init__(self, transport: Transport, clock: Callable[[], float]) -> None:
        complaint = "readers cannot be checked and are refused"
        self._requests = ReviewRequests(transport, clock, complaint, "kubectl apply -f deploy/musterd.yaml")
        self._users = Remembered[bytes, User](clock)
        self._strangers = Remembered[bytes, bool](clock)
        self._accesses = Remembered[bytes, bool](clock)
        self._refusals = Remembered[str, int](clock)

    async def user(self, token: str, peer: str) -> User | None:
        """Return the user of that token, or None if it is refused. Raises ``ReviewFailed`` and ``TooManyTokens``."""
        key = sha256(token.encode()).digest()
        if user := self._users.get(key):
            return user
        if self._strangers.get(key):
            return None
        refused = self._refusals.get(peer) or 0
        if refused >= REFUSALS:
            raise TooManyTokens
        # No audiences: the API server then takes only tokens that were made for itself.
        status = await self._requests.of_token({"token": token})
        if not status.authenticated or status.user is None or not status.user.username:
            self._strangers.put(key, True, DENIED)
            self._refusals.put(peer, (self._refusals.get(peer) or 0) + 1, DENIED)
            return None
        self._users.put(key, status.user, USER)
        return status.user

    async def allowed(self, user: User, access: Access) -> bool:
        """Return True if the user has that access. Raises ``ReviewFailed``."""
        asked = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups or (),
            "extra": user.extra or {},
            **access,
        }
        key = sha256(msgspec.json.encode(asked, order="deterministic")).digest()
        known = self._accesses.get(key)
        if known is not None:
            return known
        allowed = await self._requests.of_access(asked)
        self._accesses.put(key, allowed, ALLOWED if allowed else DENIED)
        return allowed


class Remembered(Generic[K, V]):
    """Values that are forgotten after a time, at most ``most`` of them (None: ``REMEMBERED``)."""

    def __init__(self, clock: Callable[[], float], most: int | None = None) -> None:
        self._clock = clock
        self._most = REMEMBERED if most is None else most
        self._values: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        """Return the value, unless its time is over."""
        found = self._values.get(key)
        return found[1] if found is not None and self._clock() < found[0] else None

    def put(self, key: K, value: V, seconds: float) -> None:
        """Remember the value for that long."""
        self._values.pop(key, None)
        self._values[key] = (self._clock() + seconds, value)
        if len(self._values) > self._most:
            del self._values[next(iter(self._values))]


class InUse(Counter[Any]):
    """Numbers of places in use, by key."""

    @contextmanager
    def taking(self, most: Mapping[Any, int], full: Exception) -> Iterator[None]:
        """Take a place of each key. Raises ``full`` if as many as it may have are taken."""
        if any(self[key] >= number for key, number in most.items()):
            raise full
        self.update(most.keys())
        try:
            yield
        finally:
            self.subtract(most.keys())
            for key in most:
                if not self[key]:
                    del self[key]


KNOWN = 300.0
"""Seconds for which a token is known to belong to a pod: it lives an hour at most, and its kubelet renews it."""
WAITING = 64
"""Most posts that wait for a review; further ones are answered 503."""
POD_NAME, POD_UID = "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"
_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):[^:]+")


class PodTokens:
    """The reviews of pods' service account tokens, with remembered answers; ``clock`` is monotonic.

    A token is good for one run: its audience is that run's (``muster.api.progress.audience``). The API server checks
    signature, life and audience, and that the pod that the token is bound to still exists; it names that pod in the
    review (kubernetes: pkg/serviceaccount/claims.go, ``authentication.kubernetes.io/pod-name`` and ``-uid``). A token
    that is bound to no pod is refused.

    A pod is kept for ``KNOWN`` seconds. The index shows that one that is deleted meanwhile is no member any longer.
    """

    def __init__(self, transport: Transport, clock: Callable[[], float]) -> None:
        complaint = "reports of members cannot be checked and are refused"
        hint = "it needs create on tokenreviews.authentication.k8s.io"
        self._requests = ReviewRequests(transport, clock, complaint, hint)
        self._pods = Remembered[bytes, PodIdentity](clock, most=4 * REMEMBERED)
        self._strangers = Remembered[bytes, bool](clock)
        self._waiting = InUse()

    async def pod(self, token: str, audience: str) -> PodIdentity | None:
        """Return the pod of that token for that audience; None if it is refused. Raises ``ReviewFailed``."""
        key = sha256(f"{audience}\n{token}".encode()).digest()
        if pod := self._pods.get(key):
            return pod
        if self._strangers.get(key):
            return None
        with self._waiting.taking({"": WAITING}, ReviewFailed()):
            status = await self._requests.of_token({"token": token, "audiences": [audience]})
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
