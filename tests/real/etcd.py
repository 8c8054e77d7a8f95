"""What is done to the etcd of the real control plane: compacted, kept, and put back to an earlier state.

Only for tests with the mark `alone`.
"""

import asyncio
import base64
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.real.ground import Ground
from tests.real.namespace import Object
from tests.tools.go_tool import ETCDUTL

BUMP = 1_000_000_000
"""Revisions between the backup and what is written after it, as etcd's documentation has it."""
MEMBER = "--initial-cluster=real="
"""The flag with which etcd is started; its value goes into what is restored."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A way to keep what etcd has at one moment in a folder, and to restore it while etcd is down."""

    keep: Callable[[Ground, Path], Awaitable[None]]
    restore: Callable[[Path, Path, str], Awaitable[None]]
    """Given the folder, the folder of etcd's data, and the URL of its only member."""


async def _copy(ground: Ground, folder: Path) -> None:
    """Copy etcd's data: etcd is stopped meanwhile, as for a snapshot of its disk."""
    pid = _pid(ground)
    os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.to_thread(shutil.copytree, data(ground), folder / "etcd")
    finally:
        os.kill(pid, signal.SIGCONT)


async def _copy_back(folder: Path, to: Path, _member: str) -> None:
    await asyncio.to_thread(shutil.copytree, folder / "etcd", to)


async def _snapshot(ground: Ground, folder: Path) -> None:
    """Ask etcd for a snapshot, as `etcdctl snapshot save` does."""

    def ask() -> None:
        with _open(ground, "/v3/maintenance/snapshot", {}) as answer, (folder / "snapshot").open("wb") as file:
            for line in answer:
                file.write(base64.b64decode(json.loads(line)["result"]["blob"]))

    await asyncio.to_thread(ask)


async def _restore_bumped(folder: Path, to: Path, member: str) -> None:
    command = [
        *(str(ETCDUTL.path()), "snapshot", "restore", str(folder / "snapshot"), f"--data-dir={to}"),
        *("--name=real", f"--initial-cluster=real={member}", f"--initial-advertise-peer-urls={member}"),
        *(f"--bump-revision={BUMP}", "--mark-compacted"),
    ]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)


COPIED = Backup(_copy, _copy_back)
"""A folder is copied, and copied back: the revisions of the time since are given again."""
BUMPED = Backup(_snapshot, _restore_bumped)
"""A snapshot is restored with etcdutl, which moves the revisions ahead. Needs ``ETCDUTL``."""


async def put_back(ground: Ground, way: Backup, folder: Path, member: str) -> None:
    """Replace what etcd has by what was kept. etcd is down."""
    await asyncio.to_thread(shutil.rmtree, data(ground))
    await way.restore(folder, data(ground), member)


def data(ground: Ground) -> Path:
    return Path(ground.folder) / "etcd"


def member_of(ground: Ground) -> str:
    """The URL of etcd's only member, from the flags of the process."""
    flags = Path(f"/proc/{_pid(ground)}/cmdline").read_text().split("\0")
    return next(flag.removeprefix(MEMBER) for flag in flags if flag.startswith(MEMBER))


async def compact(ground: Ground) -> int:
    """Have etcd forget everything but the present, as the API server does every five minutes; the revision."""
    return await asyncio.to_thread(_compact, ground)


def _compact(ground: Ground) -> int:
    with _open(ground, "/v3/kv/range", {"key": "AA=="}) as answer:
        revision = int(json.load(answer)["header"]["revision"])
    _open(ground, "/v3/kv/compaction", {"revision": str(revision), "physical": True}).close()
    return revision


def _pid(ground: Ground) -> int:
    return int((Path(ground.run) / "etcd.pid").read_text())


def _open(ground: Ground, path: str, body: Object) -> http.client.HTTPResponse:
    authority, certificate, key = ground.etcd_pair
    tls = ssl.create_default_context(cafile=authority)
    tls.load_cert_chain(certificate, key)
    request = urllib.request.Request(ground.etcd_url + path, data=json.dumps(body).encode(), method="POST")
    answer: http.client.HTTPResponse = urllib.request.urlopen(request, context=tls, timeout=10)
    return answer
