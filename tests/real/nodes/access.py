"""The node agent's API client over TLS, as the user of a kubeconfig."""

import ssl
from pathlib import Path

import aiohttp

from muster.kube.kubeconfig import KubeConfig
from muster.local.node.client import REQUEST_SECONDS, HttpApi


async def open_api(kubeconfig: Path, *, connections: int = 64) -> HttpApi:
    """A client of the cluster a kubeconfig names; close it."""
    access = await KubeConfig(str(kubeconfig)).read()
    tls = ssl.create_default_context(cafile=access.ca_file)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # CAs of real clusters lack extensions that Python 3.13 asks for
    if access.cert_file:
        tls.load_cert_chain(access.cert_file, access.key_file)
    token = (access.authorization or "").removeprefix("Bearer ").strip()
    host = access.host
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
