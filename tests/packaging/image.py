"""An image of this source tree, built by buildah without a registry, on a base that debootstrap makes.

The base is kept in ~/.cache/muster-image; MUSTER_IMAGE_CACHE names another folder.
"""

import fcntl
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SUITE = "bookworm"
"""Debian with Python 3.11."""
BASE = "localhost/base-of-the-tests"
AUTHORITIES = "/etc/ssl/certs"
"""The build trusts what this machine trusts: its way to the package index may have an authority of its own."""


class Unavailable(Exception):
    """This machine cannot build the image."""


def why_not() -> str:
    """What this machine lacks to build an image; empty: nothing."""
    missing = [program for program in ("buildah", "debootstrap") if shutil.which(program) is None]
    if missing:
        return f"not on PATH: {', '.join(missing)} (Debian packages of these names)"
    return "" if os.geteuid() == 0 else "debootstrap needs root"


@dataclass(frozen=True, slots=True)
class Buildah:
    """buildah with its storage in ``folder``."""

    folder: Path

    def command(self, *words: str) -> list[str]:
        storage = ["--root", str(self.folder / "root"), "--runroot", str(self.folder / "run")]
        return ["buildah", *storage, "--storage-driver", "vfs", *words]

    def __call__(self, *words: str) -> str:
        """Run a subcommand from the source tree; what it prints."""
        done = subprocess.run(self.command(*words), cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"buildah {words[0]} failed:\n{(done.stdout + done.stderr)[-4000:]}")
        return done.stdout.strip()

    def base(self) -> None:
        """The image BASE: a bare Debian with Python."""
        container = self("from", "scratch")
        self("copy", "--quiet", container, str(_debian()), "/")
        self("commit", "--quiet", container, BASE)
        self("rm", container)

    def build(self, tag: str) -> None:
        """The image of the Dockerfile, on BASE."""
        options = ["--isolation", "chroot", "--network", "host", "--pull-never", "--build-arg", f"BASE={BASE}"]
        self("build", *options, "--volume", f"{AUTHORITIES}:{AUTHORITIES}:ro", "--tag", tag, ".")

    def config(self, image: str) -> dict[str, Any]:
        """The OCI configuration of an image: user, entry point, environment."""
        configured: dict[str, Any] = json.loads(self("inspect", "--type", "image", image))["OCIv1"]["config"]
        return configured


def _debian() -> Path:
    """A bare Debian with Python, made once. Raises ``Unavailable`` where no mirror answers."""
    parent = Path(os.environ.get("MUSTER_IMAGE_CACHE") or Path.home() / ".cache" / "muster-image")
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / SUITE
    with (parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            unfinished = parent / f"{SUITE}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            packages = "--include=python3,python3-venv,ca-certificates"
            made = subprocess.run(
                ["debootstrap", "--variant=minbase", packages, SUITE, str(unfinished)],
                capture_output=True,
                text=True,
                check=False,
            )
            if made.returncode:
                raise Unavailable(f"debootstrap failed: {made.stdout.strip()[-500:]}")
            unfinished.replace(folder)
    return folder
