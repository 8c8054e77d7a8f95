"""A certificate authority for one test."""

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        """Write ``<name>.crt`` and ``<name>.key``."""
        files = directory / f"{name}.crt", directory / f"{name}.key"
        for file, text in zip(files, (self.certificate, self.key), strict=True):
            file.write_bytes(text)
        return files


class Authority:
    """Issues certificates for 127.0.0.1 and for clients."""

    def __init__(self, name: str = "test-ca") -> None:
        self._root = trustme.CA(organization_name=name)
        self.certificate = self._root.cert_pem.bytes()

    def issue(self, name: str) -> Pair:
        """A certificate for the server at 127.0.0.1, or for a client called ``name``."""
        leaf = self._root.issue_cert("127.0.0.1", name, common_name=name)
        return Pair(leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes())
