"""Prometheus scrapes a musterd that serves https, before and after its certificate is renewed."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.deploy.grafana.server import Prometheus, prometheus
from tests.deploy.prometheus.binaries import Unavailable, program
from tests.e2e.environment import environment

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.timeout(180)]

OTHER = "musterd-2.example.com"
"""A name that the first certificate has not."""


@pytest.fixture(scope="module", autouse=True)
def the_program_is_there() -> None:
    try:
        program("prometheus")
    except Unavailable as reason:
        pytest.skip(str(reason))


async def test_prometheus_verifies_the_certificate_and_follows_one_that_is_renewed(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    renew(tmp_path, authority, "musterd.example.com")
    options = ("--http-tls-cert", str(tmp_path / "tls.crt"), "--http-tls-key", str(tmp_path / "tls.key"))
    async with environment(tmp_path / "home") as here:
        await here.start_daemon(*options)
        for name, expected in (("musterd.example.com", 1), (OTHER, 0)):
            async with prometheus(tmp_path / name, f"127.0.0.1:{here.port}", **https(tmp_path, name)) as server:
                await until(server, expected)
                if name == OTHER:
                    renew(tmp_path, authority, OTHER)
                    await until(server, 1)
                assert await server.query("muster_build_info")


def renew(folder: Path, authority: trustme.CA, name: str) -> None:
    """Write a certificate for that name, and its key, as files that are replaced."""
    issued = authority.issue_cert(name)
    for file, blob in (("tls.key", issued.private_key_pem), ("tls.crt", issued.cert_chain_pems[0])):
        new = folder / f"{file}.new"
        blob.write_to_path(str(new))
        new.replace(folder / file)


def https(folder: Path, name: str) -> Mapping[str, Any]:
    """Settings of a scrape, as the ServiceMonitor of the chart has them."""
    return {"scheme": "https", "tls_config": {"ca_file": str(folder / "ca.crt"), "server_name": name}}


async def until(server: Prometheus, expected: float) -> None:
    """Wait until the target is up, or down."""
    async with asyncio.timeout(60):
        while [one.last for one in await server.query("up")] != [expected]:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.2)
