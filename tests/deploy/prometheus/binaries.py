"""The programs of Prometheus and Alertmanager: those on PATH, else Debian's, unpacked once into a cache.

Nothing is installed: `apt-get download` fetches the packages as any user, verified by apt's signatures, and
`dpkg-deb -x` unpacks them below ~/.cache/muster-prometheus. MUSTER_PROMETHEUS_CACHE names another folder.

Debian's Alertmanager opens its templates in /usr/share by that name. A script in the cache starts it in a mount
namespace of its own, in which /usr/share is the package's.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

Program = Literal["prometheus", "promtool", "alertmanager", "amtool"]

CACHE_VARIABLE = "MUSTER_PROMETHEUS_CACHE"
DEBIAN: dict[Program, tuple[str, str]] = {
    "prometheus": ("prometheus", "prometheus"),
    "promtool": ("prometheus", "promtool"),
    "alertmanager": ("prometheus-alertmanager", "alertmanager-in-namespace"),
    "amtool": ("prometheus-alertmanager", "amtool"),
}
"""The Debian package of each program, and the program's file in its /usr/bin."""

_IN_ITS_NAMESPACE = """#!/bin/sh
cd "$(dirname "$0")/../.." || exit 1
exec unshare --user --map-root-user --mount sh -c \\
  'mount --bind "$0/usr/share" /usr/share && exec "$0/usr/bin/prometheus-alertmanager" "$@"' "$PWD" "$@"
"""

_PATIENCE = 180.0


class Unavailable(Exception):
    """The program is not on PATH, and this machine cannot fetch it."""


@cache
def program(name: Program) -> Path:
    """The path of a program that runs here. Raises ``Unavailable`` with the reason."""
    if found := shutil.which(name):
        return Path(found)
    package, file = DEBIAN[name]
    folder = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "muster-prometheus")
    path = folder / package / "usr" / "bin" / file
    if not path.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of pytest-xdist ask at the same time
                if not path.is_file():
                    _fetch(package, folder)
        except OSError as error:
            raise Unavailable(f"{name} is not on PATH, and {folder} cannot hold it: {error}") from error
    tried = _run([str(path), "--version"])
    if tried.returncode:
        raise Unavailable(f"{path} does not run on this machine: {tried.stderr.strip()[-300:]}")
    return path


def _fetch(package: str, folder: Path) -> None:
    """Unpack a Debian package into ``folder/package``; the folder appears whole or not at all."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise Unavailable(f"{package} is not installed, and without apt-get and dpkg-deb it cannot be fetched")
    sys.stderr.write(f"fetching {package} into {folder} (once)\n")
    with tempfile.TemporaryDirectory(dir=folder) as work:
        fetched = _run(["apt-get", "download", package], Path(work))
        archive = next(Path(work).glob("*.deb"), None)
        if fetched.returncode or archive is None:
            raise Unavailable(f"`apt-get download {package}` failed: {fetched.stderr.strip()[-300:]}")
        unpacked = Path(work) / "unpacked"
        extracted = _run(["dpkg-deb", "-x", str(archive), str(unpacked)])
        if extracted.returncode:
            raise Unavailable(f"`dpkg-deb -x {archive.name}` failed: {extracted.stderr.strip()[-300:]}")
        if package == "prometheus-alertmanager":
            script = unpacked / "usr" / "bin" / "alertmanager-in-namespace"
            script.write_text(_IN_ITS_NAMESPACE, encoding="utf-8")
            script.chmod(0o755)
        if (folder / package).exists():
            shutil.rmtree(folder / package)
        unpacked.replace(folder / package)


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE)
