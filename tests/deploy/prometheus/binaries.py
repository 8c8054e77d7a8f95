"""The programs of Prometheus and Alertmanager: those on PATH, else Debian's (``tests.tools.debian``).

They are unpacked below ~/.cache/muster-prometheus. MUSTER_PROMETHEUS_CACHE names another folder.

Debian's Alertmanager opens its templates in /usr/share by that name. A script in the cache starts it in a mount
namespace of its own, in which /usr/share is the package's.
"""

import os
import shutil
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

from tests.tools.debian import Unavailable as Unavailable
from tests.tools.debian import run, unpacked

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


@cache
def program(name: Program) -> Path:
    """The path of a program that runs here. Raises ``Unavailable`` with the reason."""
    if found := shutil.which(name):
        return Path(found)
    package, file = DEBIAN[name]
    folder = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "muster-prometheus")
    holds = f"usr/bin/{file}"
    path = unpacked(folder / package, holds, package, finish=_in_its_namespace) / holds
    tried = run([str(path), "--version"])
    if tried.returncode:
        raise Unavailable(f"{path} does not run on this machine: {tried.stderr.strip()[-300:]}")
    return path


def needed(name: Program) -> Path:
    """The path of a program. Skips the test, with the reason, on a machine that has none and cannot fetch one."""
    try:
        return program(name)
    except Unavailable as reason:
        pytest.skip(str(reason))


def _in_its_namespace(root: Path) -> None:
    """Write the script that starts Alertmanager, into its package."""
    script = root / "usr" / "bin" / "alertmanager-in-namespace"
    if script.with_name("prometheus-alertmanager").exists():
        script.write_text(_IN_ITS_NAMESPACE, encoding="utf-8")
        script.chmod(0o755)
