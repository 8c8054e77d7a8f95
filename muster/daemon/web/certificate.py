"""The certificate of the listener for pages and metrics, loaded again when its files change.

A Secret of the type kubernetes.io/tls is mounted as two files, which the kubelet replaces when the Secret changes. Each
handshake compares the files with those that were loaded. Where they differ, it and the later ones use the new pair. A
pair that cannot be loaded, such as a certificate whose key is not written yet, is logged, and the one before stays.
"""

import ssl
from pathlib import Path

import structlog

log = structlog.get_logger()

_Stamp = tuple[tuple[int, int, int], ...]
"""Inode, time of change and size of each file; empty where one is not there."""


class ServerCertificate:
    """A pair of PEM files. Raises ``OSError``, of which ``ssl.SSLError`` is one, where they cannot be loaded."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._files = (certificate, key)
        self._stamp = self._stamp_now()
        self._current = self._load()
        self.context = self._load()
        """For the listener."""
        self.context.sni_callback = self._use_current

    def _use_current(self, handshake: ssl.SSLObject, _name: str, _context: ssl.SSLContext) -> None:
        """Called for each ClientHello, without a server name too."""
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
