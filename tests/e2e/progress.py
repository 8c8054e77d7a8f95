"""A progress endpoint for whole-system tests: its certificate, and the options with which musterd serves it."""

from pathlib import Path

import trustme

from muster.cli.processes.stack import free_port
from tests.e2e.environment import Environment


async def address_of(cluster: Environment) -> str:
    """The address that this machine has for pods."""
    node = await cluster.client.resources.get("/api/v1/nodes/local")
    return str(next(each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP"))


async def endpoint(cluster: Environment, folder: Path) -> tuple[str, ...]:
    """Options of musterd. The same may be given to a daemon that starts later."""
    host, port = await address_of(cluster), free_port()
    authority = trustme.CA()
    certificate = authority.issue_cert(host)
    certificate.private_key_and_cert_chain_pem.write_to_path(folder / "tls.pem")
    authority.cert_pem.write_to_path(folder / "ca.crt")
    return (
        *("--progress-host", "0.0.0.0", "--progress-port", str(port), "--progress-url", f"https://{host}:{port}"),
        *("--progress-tls-cert", str(folder / "tls.pem"), "--progress-tls-key", str(folder / "tls.pem")),
        *("--progress-ca", str(folder / "ca.crt")),
    )
