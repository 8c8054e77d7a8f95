"""The certificate of the listener for pages and metrics, loaded again when its files change.

A Secret of the type kubernetes.io/tls is mounted as two files, which the kubelet replaces when the Secret changes. Each
handshake compares the files with those that were loaded. If they differ, it and later ones use the new pair. A pair
that cannot be loaded, such as a certificate whose key is not written yet, is logged, and the one before stays.
"""

import ssl
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import structlog

from muster.daemon.settings import Settings
from muster.reconcilers.render.environment import Endpoint

log = structlog.get_logger()

_Stamp = tuple[tuple[int, int, int], ...]
"""Inode, time of change and size of each file; empty if a file does not exist."""


class ServerCertificate:
    """A pair of PEM files. Raises ``OSError`` (``ssl.SSLError`` is a subclass) if they cannot be loaded."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._files = (certificate, key)
        self._stamp = self._stamp_now()
        self._current = self._load()
        self.context = self._load()
        """The context for the listener."""
        self.context.sni_callback = self._use_current

    def fingerprint(self) -> bytes:
        """Return the SHA-256 of the certificate in the file. Raises ``OSError``, ``ValueError``."""
        text = self._files[0].read_text(encoding="ascii")
        begin, end = text.index(ssl.PEM_HEADER), text.index(ssl.PEM_FOOTER) + len(ssl.PEM_FOOTER)
        return sha256(ssl.PEM_cert_to_DER_cert(text[begin:end])).digest()

    def _use_current(self, handshake: ssl.SSLObject, _name: str, _context: ssl.SSLContext) -> None:
        """Use the current pair for a handshake; called for each ClientHello, also without a server name."""
        if (stamp := self._stamp_now()) != self._stamp:
            self._stamp = stamp
            file = str(self._files[0])
            try:
                self._current = self._load()
                log.info("certificate loaded again", file=file)
            except OSError as error:
                log.warning("certificate cannot be loaded, the one before stays", file=file, error=str(error))
        handshake.context = self._current

    def _stamp_now(self) -> _Stamp:
        try:
            found = [file.stat() for file in self._files]
        except OSError:
            return ()
        return tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in found)

    def _load(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate, key = self._files
        context.load_cert_chain(certificate, key, password=lambda: "")  # a terminal is never asked for one
        return context


MOST = 32_768
"""Most bytes of the authority: it is an annotation of each pod, and a pod's annotations have 256 KB together."""


def endpoint_for(settings: Settings) -> Callable[[], Endpoint | None]:
    """Return a function that gives the progress endpoint, as members get it: address and authority, from the settings.

    It reads the file of the authority again when the file has changed.
    """
    file, url = settings.progress_ca, settings.progress_url
    if settings.progress_port is None or file is None:
        return lambda: None
    known: list[tuple[float, Endpoint]] = []

    def endpoint() -> Endpoint | None:
        try:
            changed = file.stat().st_mtime
            if not known or known[0][0] != changed:
                known[:] = [(changed, Endpoint(url, authority_in(file)))]
        except (OSError, ValueError) as error:
            log.warning("the authority of the progress endpoint cannot be read", file=str(file), error=str(error))
        return known[0][1] if known else None

    return endpoint


def authority_in(file: Path) -> str:
    """Return the PEM text of an authority. Raises ``OSError``, ``ValueError``."""
    text = file.read_text(encoding="ascii")
    if "-----BEGIN CERTIFICATE-----" not in text or len(text) > MOST:
        raise ValueError(f"PEM text of at most {MOST} bytes is expected")
    return text
