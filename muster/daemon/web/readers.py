"""Decides who may read what on the HTTP port: the Host header, the bearer token, and the rights of its user.

A listener on a loopback address answers everyone who can reach it, which are the users of this machine; any other one
asks the API server about every reader (``reviews``).

Programs send ``Authorization: Bearer <token>``. A browser asks its user for a name and a password, and sends the token
as the password (HTTP Basic): the browser keeps it for this origin only and until it is closed, and no cookie, form or
session is needed. Pages have nothing that a forged request could change. A browser is asked only if its token does not
cross a network in the clear: if musterd itself serves TLS, by a loopback name, which a port-forward has, or behind a
proxy that reports that it was reached by https. Programs are not asked, they send.

The Host header must be an address, ``localhost`` or a name that the settings list. A page of another site whose name
was pointed at this server (DNS rebinding) has that site's name in it.
"""

import asyncio
import re
from base64 import b64decode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from muster.api.values.printable import WORD, clean
from muster.daemon.web.reviews import AT_ONCE, METRICS, Access, ReviewFailed, Reviews, TooManyTokens, User, experiments
from muster.kube.authentication.credentials import is_loopback

SIGN_IN = (
    "A token of the cluster is needed: as Authorization: Bearer <token>, or in a browser as the password with any name."
    " `kubectl create token <service account> --namespace <namespace>` makes one."
)

UNENCRYPTED = (
    "A browser is not asked for a token here, because it would cross the network without encryption: open the page by"
    " `kubectl port-forward`, or by an https address (an Ingress that sets X-Forwarded-Proto)."
)

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?")
_TOKEN = re.compile(r"[\x21-\x7e]{1,8192}")


class Refused(Exception):
    """A refused request, answered with this status and text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Anyone:
    """A reader that may see everything, and the authenticator that accepts every reader: on loopback addresses."""

    name = ""

    async def reader(self, authorization: Sequence[str], peer: str) -> "Anyone":  # noqa: ARG002
        """Accept every reader."""
        return self

    async def sees_all(self) -> bool:
        """Return True if the reader may list the Experiments of all namespaces."""
        return True

    async def namespaces(self, among: Iterable[str]) -> Collection[str]:
        """Return those namespaces whose Experiments the reader may list."""
        return frozenset(among)

    async def check_experiment(self, namespace: str, name: str) -> None:
        """Raise ``Refused`` unless the reader may get that Experiment, whether it exists or not."""

    async def check_metrics(self) -> None:
        """Raise ``Refused`` unless the reader may scrape."""


class TokenAuthenticator:
    """The authenticator of readers by their bearer token."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    async def reader(self, authorization: Sequence[str], peer: str) -> "Reader":
        """Return the reader that the API server knows by its token, sent from that address. Raises ``Refused``."""
        token = token_of(authorization)
        if token is None:
            raise Refused(401, SIGN_IN)
        try:
            user = await self._reviews.user(token, peer)
        except TooManyTokens:
            raise Refused(429, "Too many tokens from your address were refused; try again in half a minute.") from None
        except ReviewFailed:
            raise _unchecked() from None
        if user is None:
            raise Refused(401, f"The API server does not accept that token; it may have expired. {SIGN_IN}")
        return _Known(self._reviews, user)


@dataclass(frozen=True, slots=True)
class _Known:
    """A reader whose token the API server accepted. Each call raises ``Refused`` if the right cannot be checked."""

    reviews: Reviews
    user: User

    @property
    def name(self) -> str:
        return clean(self.user.username, WORD)

    async def sees_all(self) -> bool:
        return await self._may(experiments("list"))

    async def namespaces(self, among: Iterable[str]) -> Collection[str]:
        asked = sorted(set(among))
        readable: set[str] = set()
        for start in range(0, len(asked), AT_ONCE):
            batch = asked[start : start + AT_ONCE]
            answers = await asyncio.gather(*(self._may(experiments("list", namespace)) for namespace in batch))
            readable.update(namespace for namespace, may in zip(batch, answers, strict=True) if may)
        return readable

    async def check_experiment(self, namespace: str, name: str) -> None:
        if not await self._may(experiments("get", namespace, name)):
            raise self._denied(f"get experiments.muster.dev in namespace {namespace}")

    async def check_metrics(self) -> None:
        if not await self._may(METRICS):
            raise self._denied("get the non-resource URL /metrics; see deploy/readers.yaml")

    async def _may(self, access: Access) -> bool:
        try:
            return await self.reviews.allowed(self.user, access)
        except ReviewFailed:
            raise _unchecked() from None

    def _denied(self, what: str) -> Refused:
        return Refused(403, f"{self.name} may not {what}.")


Reader = Anyone | _Known
Authenticator = Anyone | TokenAuthenticator


def token_of(authorization: Sequence[str]) -> str | None:
    """Return the token of the one Authorization header, by either scheme; None if there is none that can be read."""
    if len(authorization) != 1:
        return None
    scheme, _, value = authorization[0].partition(" ")
    value = value.strip()
    if scheme.lower() == "basic":
        try:
            value = b64decode(value, validate=True).decode("ascii").partition(":")[2]
        except ValueError:
            return None
    elif scheme.lower() != "bearer":
        return None
    return value if _TOKEN.fullmatch(value) else None


def check_host(hosts: Sequence[str], names: Collection[str]) -> None:
    """Raise ``Refused`` unless there is one Host header with an address, ``localhost`` or one of ``names``."""
    matched = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if matched is None:
        raise Refused(400, "One valid Host header is needed.")
    literal, name = matched.groups()
    if not _is_address(literal or name) and (literal or name.lower() not in {"localhost", *names}):
        raise Refused(421, "This Host name is not served here; musterd's --http-names lists the names that are.")


def asks_browsers(host: str, forwarded: str) -> bool:
    """Return True if a browser may be asked for a token at that Host header and X-Forwarded-Proto header.

    A reader that forges the second endangers only its own token.
    """
    if forwarded.partition(",")[0].strip().lower() == "https":
        return True
    matched = _HOST.fullmatch(host)
    return matched is not None and is_loopback((matched[1] or matched[2]).lower())


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _unchecked() -> Refused:
    return Refused(503, "The API server cannot be asked about your rights now; see the log of musterd. Try again.")
