"""Certificates of one control plane: one authority, a certificate for each server and each user, files with mode 0600.

The authority is made again at each start and lives in the plane's temporary folder only.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import trustme

from muster.local.node.network.address_pool import BRIDGE_BLOCKS


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate (with its chain) and its key, as files."""

    certificate: Path
    key: Path


class Authority:
    """Issues what the servers and their users identify themselves with."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder = folder
        self._root = trustme.CA()
        self.file = folder / "ca.crt"
        self.pem: bytes = self._root.cert_pem.bytes()
        _write(self.file, self.pem)

    def server(self, name: str, *more: str) -> Pair:
        """A server on loopback and at ``more`` addresses and names; pods in network namespaces reach it at the address
        of their bridge (`nodes.relay`)."""
        identities = dict.fromkeys(("127.0.0.1", "localhost", *(str(block[1]) for block in BRIDGE_BLOCKS), *more))
        return self._save(name, self._root.issue_cert(*identities, common_name=name))

    def user(self, name: str, group: str = "") -> Pair:
        """A client certificate: the API server takes the common name for the user, the organization for its group."""
        file = name.replace(":", "-")
        return self._save(file, self._issue(file, name, group))

    def key(self, name: str) -> Path:
        """A bare key: the API server signs service account tokens with it."""
        return self._save(name, self._issue(name, name)).key

    def _issue(self, file: str, name: str, group: str = "") -> trustme.LeafCert:
        # Go refuses a certificate whose list of subject alternative names is critical and empty, so it has one.
        return self._root.issue_cert(f"{file}.users.test", common_name=name, organization_name=group or None)

    def _save(self, name: str, leaf: trustme.LeafCert) -> Pair:
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        _write(pair.certificate, b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        _write(pair.key, leaf.private_key_pem.bytes())
        return pair


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
