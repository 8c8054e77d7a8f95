"""The certificate of a local cluster: made anew at every start, valid for this machine's loopback addresses only.

It is its own authority, and the kubeconfig carries it, so that nothing has to be trusted that is not in that file.
The key usage extensions are those that strict verifiers ask for (RFC 5280, 4.2.1; Python 3.13 sets
VERIFY_X509_STRICT).
"""

import datetime as dt
import ipaddress
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = dt.timedelta(days=1)
LIFETIME = 365 * DAY


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and the server's TLS settings with its key; the key is kept nowhere else."""

    pem: bytes
    context: ssl.SSLContext


def make_certificate(now: float) -> Certificate:
    """A certificate valid from a day before ``now`` (wall seconds) for a year."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "muster-local")])
    at = dt.datetime.fromtimestamp(now, dt.UTC)
    hosts: list[x509.GeneralName] = [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("::1")),
    ]
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    public = key.public_key()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - DAY)
        .not_valid_after(at + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(pem, _context(pem, secret))


def _context(pem: bytes, secret: bytes) -> ssl.SSLContext:
    """Python loads a key from a file only; the file is private and gone before anybody is served."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    descriptor, path = tempfile.mkstemp(prefix="muster-local-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret + pem)
        context.load_cert_chain(path)
    finally:
        Path(path).unlink()
    return context
