"""Install the frameworks that examples run with: ``python -m tests.frameworks`` (``make frameworks``).

Ray and XGBoost go into a virtual environment (``MUSTER_FRAMEWORKS``, 600 MB) at the versions of requirements.txt, with
their hashes; Jupyter's server goes into one of its own inside (jupyter.txt, 30 MB). PyTorch is Debian's python3-torch
where apt exists and may install, else the index's wheel where that is a build for CPUs: the one for Linux on x86_64
brings 3 GB of CUDA. What cannot be installed is printed with the reason, and its tests are skipped. ``--lock`` writes
requirements.txt, jupyter.txt and torch.txt again from their ``.in`` files.

``--torch`` (``make frameworks TORCH=1``) also installs the current PyTorch with transformers, into a virtual
environment of their own inside (torch.txt). It works without a GPU, but not without the CUDA libraries of its wheel:
6 GB. Once it is installed, each later call brings it to the versions of the lock.

Before an installation its size and time are printed, and then a line for each package that is fetched.
"""

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.frameworks.interpreters import SYSTEM_PYTHON, has_module, home, jupyter_home, torch_home

HERE = Path(__file__).parent
LOCK, JUPYTER_LOCK, TORCH_LOCK = HERE / "requirements.txt", HERE / "jupyter.txt", HERE / "torch.txt"
HEADER = "# Written by `python -m tests.frameworks --lock` from {}; do not edit.\n"
TORCH = "2.9.0"
"""The wheel where one is for CPUs: every wheel of PyPI for another platform than Linux on x86_64."""
DEBIAN_TORCH = "python3-torch"
COST = {
    LOCK: "600 MB, minutes",
    JUPYTER_LOCK: "30 MB, a minute",
    TORCH_LOCK: "6 GB, of which 3 GB are fetched; a minute with pip's cache, 40 minutes on two busy cores without it",
}
FETCHES = ("Downloading ", "Using cached ")
"""How pip begins the line of a package that it has found."""
UNPACKS = "Installing collected packages: "


def main(arguments: Sequence[str]) -> int:
    """Install what is missing. Never fails: a framework that is not there skips its tests."""
    parser = argparse.ArgumentParser(
        "python -m tests.frameworks", description="Install the frameworks of the examples."
    )
    parser.add_argument("--torch", action="store_true", help=f"also the current PyTorch ({COST[TORCH_LOCK]})")
    parser.add_argument("--lock", action="store_true", help="only write the files that pin the versions")
    asked = parser.parse_args(list(arguments))
    if asked.lock:
        for lock in (LOCK, JUPYTER_LOCK, TORCH_LOCK):
            source = lock.with_suffix(".in")
            lock.write_text(HEADER.format(source.name) + _resolve(source), encoding="utf-8")
        return 0
    folder = home()
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        current_torch = asked.torch or torch_home().exists()  # asked before the folder around it is cleared
        _report("ray and xgboost", install_environment(folder, LOCK, "ray and xgboost"))
        _report("jupyter", install_environment(jupyter_home(), JUPYTER_LOCK, "jupyter"))
        _report("torch", _install_torch(folder / "bin" / "python"))
        if current_torch:
            what = "the current torch, with transformers"
            _report(what, install_environment(torch_home(), TORCH_LOCK, what))
    return 0


def install_environment(folder: Path, lock: Path, what: str) -> str:
    """Bring the virtual environment to the pinned versions. Returns the reason where it cannot be done."""
    stamp = folder / ".ready"
    state = f"{hashlib.sha256(lock.read_bytes()).hexdigest()} {sys.version}"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == state:
        return ""
    packages = len(re.findall(r"^[\w.-]+==", lock.read_text(encoding="utf-8"), re.MULTILINE))
    print(f"installing {what} into {folder}: {packages} packages ({COST[lock]}) ...", flush=True)
    stamp.unlink(missing_ok=True)
    if problem := run([sys.executable, "-m", "venv", "--clear", str(folder)]):
        return problem
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    if problem := run([*pip, "--require-hashes", "--only-binary", ":all:", "--requirement", str(lock)], show):
        return problem
    stamp.write_text(state, encoding="utf-8")
    return ""


def _install_torch(python: Path) -> str:
    """Make some interpreter have PyTorch. Returns the reason where none can."""
    if has_module(python, "torch") or has_module(SYSTEM_PYTHON, "torch"):
        return ""
    debian = _install_debian_torch()
    wheel = _install_wheel_of_torch(python) if debian else ""
    return f"{debian}; {wheel}" if debian and wheel else ""


def _install_wheel_of_torch(python: Path) -> str:
    if sys.platform == "linux" and platform.machine() == "x86_64":
        return "the package index has no build for CPUs on this platform (its wheel brings 3 GB of CUDA)"
    return run([str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", f"torch=={TORCH}"])


def _install_debian_torch() -> str:
    if shutil.which("apt-get") is None:
        return f"no apt-get for Debian's {DEBIAN_TORCH}"
    if os.geteuid() != 0:
        return f"not root: `sudo apt-get install {DEBIAN_TORCH}` installs it"
    print(f"installing Debian's {DEBIAN_TORCH} (half a minute) ...", flush=True)
    if reason := run(["apt-get", "update", "-qq"]):
        return reason
    return run(["apt-get", "install", "-qq", "--yes", "--no-install-recommends", DEBIAN_TORCH])


def _resolve(source: Path) -> str:
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--python-version", "3.11", "--generate-hashes"]
    made = subprocess.run(
        [*command, "--no-header", "--no-annotate", str(source)], capture_output=True, text=True, check=True
    )
    return made.stdout


def show(line: str) -> None:
    """Print what pip fetches, and when it begins to unpack, after which it is silent until it ends."""
    if line.startswith(FETCHES) and ".metadata" not in line:
        print(f"  {line}", flush=True)
    elif line.startswith(UNPACKS):
        print(f"  unpacking {line.count(',') + 1} packages ...", flush=True)


def run(command: Sequence[str], hears: Callable[[str], None] = lambda _: None) -> str:
    """Run a command, with a call for each line of its output. Returns the last line where it fails."""
    quiet, last = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, ""
    with subprocess.Popen(
        command, env=quiet, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in map(str.strip, process.stdout):
            last = line or last
            hears(line)
    return f"{Path(command[0]).name}: {last or f'exit code {process.returncode}'}" if process.returncode else ""


def _report(what: str, problem: str) -> None:
    print(f"{what}: " + (f"not installed: {problem}; its tests are skipped" if problem else "installed"), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
