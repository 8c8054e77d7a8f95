"""Chromium and its driver: each from PATH, else Debian's (``tests.tools.debian``).

They are unpacked below ~/.cache/muster-chromium. MUSTER_CHROMIUM_CACHE names another folder. A machine that has one of
the two gets the other one only. Where the browser is Debian's, both are of one version.
"""

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

from tests.tools.debian import Unavailable as Unavailable
from tests.tools.debian import unpacked

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


@cache
def programs() -> tuple[str, str, str]:
    """Paths of Chromium and its driver, and of the libraries that come with them. Raises ``Unavailable``."""
    found = {name: path for name in PACKAGES if (path := shutil.which(name))}
    missing = [name for name in PACKAGES if name not in found]
    if not missing:
        return found["chromium"], found["chromedriver"], ""
    folder = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "muster-chromium")
    root, packages = folder / "-".join(("root", *missing)), [PACKAGES[name] for name in missing]
    try:
        unpacked(root, UNPACKED[missing[0]], *packages, needs=True)
    except Unavailable as reason:
        raise Unavailable(f"{reason}; {INSTALL}") from reason
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
                emulate(started, "prefers-color-scheme", "dark")
            yield started
        finally:
            started.quit()


def emulate(browser: Chrome, feature: str, value: str) -> None:
    """Let the page see that preference of its reader."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": feature, "value": value}]})


def screen(browser: Chrome, width: int, height: int = 740, *, mobile: bool = False) -> None:
    """Give the page a screen of that size."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
