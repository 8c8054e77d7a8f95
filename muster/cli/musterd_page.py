"""Asks a musterd by the address of its page, with a token of the reader: musterd answers what its user may see."""

from typing import Final, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.rollcall.document import Detail, path_of

D = TypeVar("D", bound=msgspec.Struct)
PATIENCE: Final = 10.0
"""Seconds in which musterd must answer."""
LARGEST: Final = 4 << 20
"""Bytes of its answer."""
SHOWN: Final = 300
"""Characters of what it answers instead of a document."""
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def shown(
    url: str, token: object, option: str = "--page", example: str = "http://localhost:8080 or https://HOST"
) -> str:
    """Return the address to print. Raises ``MusterError`` for one that is none, or to which no token may travel."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise MusterError(f"{option} {printable(url)} is no address: write {example}")
    if token and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise MusterError("the token would travel without encryption: use https, or kubectl port-forward")
    return printable(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")


async def bounded(answer: aiohttp.ClientResponse) -> bytes:
    """Return the body, or more than ``LARGEST`` bytes of one that is longer."""
    body = b""
    while len(body) <= LARGEST and (more := await answer.content.read(LARGEST + 1 - len(body))):
        body += more
    return body


async def asked(url: str, path: str, kind: type[D], token: str) -> D:
    """Return the document of that path. Raises ``MusterError``."""
    where = shown(url, token)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
            session.get(f"{url.rstrip('/')}{path}", allow_redirects=False) as answer,
        ):
            body = await bounded(answer)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise MusterError(f"{where} does not answer: {printable(str(error) or 'not in time', SHOWN)}") from error
    if answer.status != 200:
        words = printable(body[: 4 * SHOWN].decode("utf-8", "replace").strip(), SHOWN)
        raise MusterError(f"{where} answers with status {answer.status}: {words}")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MusterError(f"what answers at {where} is no musterd of this version: {printable(str(error))}") from error


async def roll_of(url: str, namespace: str, name: str, token: str = "") -> Detail:
    """Return what that musterd knows of a run. Raises ``MusterError``."""
    return await asked(url, f"{path_of(namespace, name)}.json", Detail, token)
