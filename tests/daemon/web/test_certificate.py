"""The listener of pages and metrics with a certificate, over real sockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientConnectorCertificateError, ClientSession, web
from structlog.testing import capture_logs

from muster.daemon.main import certificate_of
from muster.daemon.settings import Settings
from muster.daemon.web.certificate import ServerCertificate
from muster.daemon.web.connections import Limits, Listener
from muster.daemon.web.readers import UNENCRYPTED, TokenAuthenticator
from muster.daemon.web.reviews import Reviews
from tests.daemon.web.ground import Ground, of_tenants
from tests.daemon.web.subjects import serving
from tests.fakes.certificates import Authority


class Mounted:
    """A Secret as the kubelet mounts it: two files that are replaced when it is renewed."""

    def __init__(self, folder: Path) -> None:
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"

    def renew(self) -> ssl.SSLContext:
        """Make a certificate of a new authority. Return a client's context that trusts this authority alone."""
        authority = Authority()
        issued = authority.issue("localhost")
        self._replace(self.key, issued.key)
        self._replace(self.certificate, issued.certificate)
        return ssl.create_default_context(cadata=authority.certificate.decode())

    def spoil(self) -> None:
        """Write the certificate of another key."""
        self._replace(self.certificate, Authority().issue("localhost").certificate)

    def _replace(self, file: Path, content: bytes) -> None:
        new = file.with_suffix(".new")
        new.write_bytes(content)
        new.replace(file)


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path)


async def scheme(request: web.BaseRequest) -> web.Response:
    return web.Response(text="https" if request.secure else "http")


@asynccontextmanager
async def listening(mounted: Mounted, **limits: float) -> AsyncIterator[int]:
    """Yield the port of a listener with that certificate."""
    certificate = ServerCertificate(mounted.certificate, mounted.key)
    listener = Listener(scheme, "127.0.0.1", 0, Limits(**limits), certificate.context)  # type: ignore[arg-type]
    port = await listener.start()
    try:
        yield port
    finally:
        await listener.stop()


async def read(host: str, port: int, trusting: ssl.SSLContext) -> str:
    """Return the answer to a client with a connection of its own."""
    async with ClientSession() as session, session.get(f"https://{host}:{port}/", ssl=trusting) as answer:
        return await answer.text()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"], ids=["by a name", "by an address, so without SNI"])
async def test_a_certificate_that_is_renewed_is_shown_from_the_next_connection_on(mounted: Mounted, host: str) -> None:
    before = mounted.renew()
    async with listening(mounted) as port:
        assert await read(host, port, before) == "https"
        after = mounted.renew()
        assert await read(host, port, after) == "https"
        with pytest.raises(ClientConnectorCertificateError):
            await read(host, port, before)


async def test_a_pair_that_cannot_be_loaded_is_logged_once_and_the_one_before_stays(mounted: Mounted) -> None:
    trusting = mounted.renew()
    async with listening(mounted) as port:
        mounted.spoil()
        with capture_logs() as logs:
            assert [await read("localhost", port, trusting) for _ in range(2)] == ["https", "https"]
        assert [(each["log_level"], each["event"]) for each in logs] == [
            ("warning", "certificate cannot be loaded, the one before stays")
        ]
        renewed = mounted.renew()
        assert await read("localhost", port, renewed) == "https"


async def test_a_peer_that_begins_no_handshake_is_cut_off(mounted: Mounted) -> None:
    mounted.renew()
    async with listening(mounted, first_request=0.05) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


async def test_a_browser_that_came_by_https_is_asked_for_its_token(mounted: Mounted) -> None:
    """By a name that is no loopback one, without a proxy."""
    trusting = mounted.renew()
    here = Ground()
    authenticator = TokenAuthenticator(Reviews(here.api, lambda: here.now))
    certificate = ServerCertificate(mounted.certificate, mounted.key)
    names = {"musterd.example.com"}
    async with (
        serving(of_tenants(), authenticator=authenticator, names=names, tls=certificate.context) as address,
        ClientSession(address.replace("http:", "https:")) as session,
        session.get("/", ssl=trusting, headers={"Host": "musterd.example.com"}) as answer,
    ):
        assert answer.status == 401
        assert [each.split()[0] for each in answer.headers.getall("WWW-Authenticate")] == ["Bearer", "Basic"]
        assert UNENCRYPTED not in await answer.text()


async def test_plain_http_is_not_answered(mounted: Mounted) -> None:
    mounted.renew()
    async with listening(mounted) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async with asyncio.timeout(10):
            assert b"HTTP" not in await reader.read()
        writer.close()


def test_a_certificate_without_its_key_is_refused() -> None:
    with pytest.raises(ValueError, match="http_tls_cert and http_tls_key go together"):
        Settings(http_tls_cert=Path("tls.crt"))


def test_without_a_certificate_the_listener_speaks_plain_http() -> None:
    assert certificate_of(Settings()) is None


def test_files_that_cannot_be_loaded_are_an_error_of_the_configuration(mounted: Mounted) -> None:
    settings = Settings(http_tls_cert=mounted.certificate, http_tls_key=mounted.key)
    with pytest.raises(OSError, match="No such file"):
        certificate_of(settings)
    mounted.renew()
    mounted.spoil()
    with pytest.raises(OSError, match="KEY_VALUES_MISMATCH"):
        certificate_of(settings)
