"""The certificate of a local cluster, made anew at every start by an authority of its own.

The kubeconfig carries the authority, so nothing outside that file has to be trusted. The keys are kept in memory only.
"""

import ssl
from dataclasses import dataclass

import trustme

HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Certificate:
    """The authority's certificate, and the TLS settings of a server that it vouches for."""

    authority: bytes
    """PEM."""
    context: ssl.SSLContext


def make_certificate() -> Certificate:
    """A certificate for this machine's loopback names. Takes a few milliseconds of CPU time."""
    authority = trustme.CA(
        organization_name="muster-local", organization_unit_name="authority of one start", path_length=0
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*HOSTS, common_name="muster-local").configure_cert(context)
    return Certificate(authority.cert_pem.bytes(), context)
