"""The node agent's API client over TLS, as the user of a kubeconfig."""

import ssl
from pathlib import Path

import aiohttp

from muster.client.configuration import find_access
from muster.local.node.client import REQUEST_SECONDS, HttpApi


async def open_api(kubeconfig: Path, *, connections: int = 64) -> HttpApi:
    """A client of the cluster a kubeconfig names; close it."""
    configuration = (await find_access(kubeconfig)).configuration
    tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # CAs of real clusters lack extensions that Python 3.13 asks for
    if configuration.cert_file:
        tls.load_cert_chain(configuration.cert_file, configuration.key_file)
    token = (configuration.api_key.get("BearerToken") or "").removeprefix("Bearer ").strip()
    host = str(configuration.host)
    api = HttpApi(host, token or None)
    session, api._session = (
        api._session,
        aiohttp.ClientSession(
            host.rstrip("/") + "/",
            headers=api._session.headers,
            connector=aiohttp.TCPConnector(limit=connections, ssl=tls),
            timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS),
            read_bufsize=1024 * 1024,
        ),
    )
    await session.close()
    return api
