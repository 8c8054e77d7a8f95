"""Debian's packages of programs that this machine lacks, unpacked once into a cache.

Nothing is installed: `apt-get download` fetches the packages as any user, verified by apt's signatures, and
`dpkg-deb -x` unpacks them.
"""

import fcntl
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

_PATIENCE = 300.0


class Unavailable(Exception):
    """A program is not on this machine, and cannot be fetched; the text gives the reason."""


def unpacked(
    root: Path, holds: str, *packages: str, needs: bool = False, finish: Callable[[Path], None] = lambda root: None
) -> Path:
    """The folder with the files of these packages, which has ``holds``. Raises ``Unavailable`` with the reason.

    ``needs``: also what they need and is not installed. ``finish`` adds to the folder. It appears whole or not at all.
    """
    if (root / holds).exists():
        return root
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        with (root.parent / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of pytest-xdist ask at the same time
            if not (root / holds).exists():
                _fetch(root, packages, finish, needs=needs)
    except OSError as error:
        raise Unavailable(f"no {' and no '.join(packages)}, and {root.parent} cannot hold it: {error}") from error
    return root


def _fetch(root: Path, packages: Sequence[str], finish: Callable[[Path], None], *, needs: bool) -> None:
    wanted = " and ".join(packages)
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise Unavailable(f"{wanted} is not installed, and without apt-get and dpkg-deb it cannot be fetched")
    sys.stderr.write(f"fetching {wanted} into {root.parent} (once)\n")
    all_packages = _with_needs(packages) if needs else packages
    with tempfile.TemporaryDirectory(dir=root.parent) as work:
        fetched = run(["apt-get", "download", *all_packages], Path(work))
        archives = sorted(Path(work).glob("*.deb"))
        if fetched.returncode or not archives:
            raise Unavailable(f"`apt-get download {wanted}` failed: {fetched.stderr.strip()[-300:]}")
        made = Path(work) / "root"
        for archive in archives:
            extracted = run(["dpkg-deb", "-x", str(archive), str(made)])
            if extracted.returncode:
                raise Unavailable(f"`dpkg-deb -x {archive.name}` failed: {extracted.stderr.strip()[-300:]}")
        finish(made)
        shutil.rmtree(root, ignore_errors=True)
        made.replace(root)


def _with_needs(packages: Sequence[str]) -> list[str]:
    planned = run(["apt-get", "--simulate", "install", "--no-install-recommends", *packages])
    found = [line.split()[1] for line in planned.stdout.splitlines() if line.startswith("Inst ")]
    if planned.returncode or not found:
        why = planned.stderr.strip()[-300:] or "it is installed, and not on PATH"
        raise Unavailable(f"apt-get knows no way to {' and '.join(packages)}: {why}")
    return found


def run(command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE)
