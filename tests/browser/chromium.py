"""Chromium and its driver: each from PATH, else Debian's, unpacked once into a cache.

Nothing is installed: `apt-get download` fetches the packages that this machine lacks as any user, verified by apt's
signatures, and `dpkg-deb -x` unpacks them below ~/.cache/muster-chromium. MUSTER_CHROMIUM_CACHE names another folder.
A machine that has one of the two gets the other one only. Where the browser is Debian's, both are of one version.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

CACHE_VARIABLE = "MUSTER_CHROMIUM_CACHE"
PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver"}
"""The Debian package of each program."""
UNPACKED = {"chromium": "usr/lib/chromium/chromium", "chromedriver": "usr/bin/chromedriver"}
"""Where a package has its program; Debian's script /usr/bin/chromium reads files of an installed one."""
INSTALL = "install it: apt-get install chromium chromium-driver"
FLAGS = (
    "--headless",
    "--no-sandbox",  # of the renderer: it needs a namespace that containers often lack, and loads our own page only
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
_PATIENCE = 300.0


class Unavailable(Exception):
    """A program is not on this machine, and cannot be fetched; the text says which, and what to install."""


@cache
def programs() -> tuple[str, str, str]:
    """Paths of Chromium and its driver, and of the libraries that come with them. Raises ``Unavailable``."""
    found = {name: path for name in PACKAGES if (path := shutil.which(name))}
    missing = [name for name in PACKAGES if name not in found]
    if not missing:
        return found["chromium"], found["chromedriver"], ""
    folder = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "muster-chromium")
    root = folder / "-".join(("root", *missing))
    try:
        if not root.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # the workers of pytest-xdist ask at the same time
                if not root.is_dir():
                    _fetch(folder, root, [PACKAGES[name] for name in missing])
    except OSError as error:
        raise Unavailable(f"no {' and no '.join(missing)} on PATH, and {folder} cannot hold it: {error}") from error
    found |= {name: str(root / UNPACKED[name]) for name in missing}
    libraries = ":".join(str(each) for each in (*root.glob("usr/lib/*-linux-gnu"), *root.glob("usr/lib/*/pulseaudio")))
    return found["chromium"], found["chromedriver"], libraries


@contextmanager
def chromium(*, script: bool = True, dark: bool = False, width: int = 1280, height: int = 900) -> Iterator[Chrome]:
    """A browser with a new empty profile. Raises ``Unavailable``."""
    browser, driver, libraries = programs()
    options = ChromeOptions()
    options.binary_location = browser
    with tempfile.TemporaryDirectory(prefix="muster-chromium-") as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        if not script:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        path = ":".join(filter(None, (libraries, os.environ.get("LD_LIBRARY_PATH", ""))))
        environment = os.environ | {"LD_LIBRARY_PATH": path}
        service = Service(driver, env=environment, log_output=subprocess.DEVNULL)
        try:
            started = Chrome(options=options, service=service)
        except WebDriverException as error:
            raise Unavailable(f"{browser} does not start on this machine: {error.msg}") from error
        try:
            if dark:
                feature = {"name": "prefers-color-scheme", "value": "dark"}
                started.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            yield started
        finally:
            started.quit()


def _fetch(folder: Path, root: Path, packages: list[str]) -> None:
    """Unpack those packages and what they need that is not installed. The folder appears whole or not at all."""
    wanted = " and ".join(packages)
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise Unavailable(f"{wanted} cannot be fetched without apt-get and dpkg-deb; {INSTALL}")
    planned = _run(["apt-get", "--simulate", "install", "--no-install-recommends", *packages])
    missing = [line.split()[1] for line in planned.stdout.splitlines() if line.startswith("Inst ")]
    if planned.returncode or not missing:
        why = planned.stderr.strip()[-300:] or "it is installed, and not on PATH"
        raise Unavailable(f"apt-get knows no way to {wanted}: {why}; {INSTALL}")
    with tempfile.TemporaryDirectory(dir=folder) as work:
        fetched = _run(["apt-get", "download", *missing], Path(work))
        if fetched.returncode:
            raise Unavailable(f"`apt-get download {wanted}` failed: {fetched.stderr.strip()[-300:]}; {INSTALL}")
        unpacked = Path(work) / "root"
        for archive in sorted(Path(work).glob("*.deb")):
            extracted = _run(["dpkg-deb", "-x", str(archive), str(unpacked)])
            if extracted.returncode:
                raise Unavailable(f"`dpkg-deb -x {archive.name}` failed: {extracted.stderr.strip()[-300:]}")
        unpacked.replace(root)


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE)
