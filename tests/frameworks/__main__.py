"""Install the frameworks that examples run with: ``python -m tests.frameworks`` (``make frameworks``).

Ray and XGBoost go into a virtual environment (``MUSTER_FRAMEWORKS``, 600 MB) at the versions of requirements.txt, with
their hashes; Jupyter's server goes into one of its own inside (jupyter.txt, 30 MB). PyTorch is Debian's python3-torch
where apt is there and may install, else the index's wheel where that is a build for CPUs: the one for Linux on x86_64
brings 3 GB of CUDA. What cannot be installed is printed with the reason, and its tests are skipped. ``--lock`` writes
requirements.txt, jupyter.txt and torch.txt anew from their ``.in`` files.

``--torch`` (``make frameworks TORCH=1``) also installs the current PyTorch with transformers, into a virtual
environment of their own inside (torch.txt). It works without a GPU, but not without the CUDA libraries of its wheel:
6 GB. Once it is there, each later call brings it to the versions of the lock.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.frameworks.interpreters import SYSTEM_PYTHON, has_module, home, jupyter_home, torch_home

HERE = Path(__file__).parent
LOCK, JUPYTER_LOCK, TORCH_LOCK = HERE / "requirements.txt", HERE / "jupyter.txt", HERE / "torch.txt"
HEADER = "# Written by `python -m tests.frameworks --lock` from {}; do not edit.\n"
TORCH = "2.9.0"
"""The wheel where one is for CPUs: every wheel of PyPI for another platform than Linux on x86_64."""
DEBIAN_TORCH = "python3-torch"


def main(arguments: Sequence[str]) -> int:
    """Install what is missing. Never fails: a framework that is not there skips its tests."""
    if "--lock" in arguments:
        for lock in (LOCK, JUPYTER_LOCK, TORCH_LOCK):
            source = lock.with_suffix(".in")
            lock.write_text(HEADER.format(source.name) + _resolve(source), encoding="utf-8")
        return 0
    folder = home()
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        current_torch = "--torch" in arguments or torch_home().exists()  # asked before the folder around it is cleared
        _report("ray and xgboost", _install_environment(folder, LOCK, "ray and xgboost"))
        _report("jupyter", _install_environment(jupyter_home(), JUPYTER_LOCK, "jupyter"))
        _report("torch", _install_torch(folder / "bin" / "python"))
        if current_torch:
            what = "the current torch, with transformers"
            _report(what, _install_environment(torch_home(), TORCH_LOCK, what))
    return 0


def _install_environment(folder: Path, lock: Path, what: str) -> str:
    """Bring the virtual environment to the pinned versions. Returns the reason where it cannot be done."""
    stamp = folder / ".ready"
    state = f"{hashlib.sha256(lock.read_bytes()).hexdigest()} {sys.version}"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == state:
        return ""
    print(f"installing {what} into {folder} (this takes minutes) ...", flush=True)
    stamp.unlink(missing_ok=True)
    if problem := _run([sys.executable, "-m", "venv", "--clear", str(folder)]):
        return problem
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if problem := _run([*pip, "--require-hashes", "--only-binary", ":all:", "--requirement", str(lock)]):
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
    return _run([str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", f"torch=={TORCH}"])


def _install_debian_torch() -> str:
    if shutil.which("apt-get") is None:
        return f"no apt-get for Debian's {DEBIAN_TORCH}"
    if os.geteuid() != 0:
        return f"not root: `sudo apt-get install {DEBIAN_TORCH}` installs it"
    print(f"installing Debian's {DEBIAN_TORCH} (half a minute) ...", flush=True)
    if reason := _run(["apt-get", "update", "-qq"]):
        return reason
    return _run(["apt-get", "install", "-qq", "--yes", "--no-install-recommends", DEBIAN_TORCH])


def _resolve(source: Path) -> str:
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--python-version", "3.11", "--generate-hashes"]
    made = subprocess.run(
        [*command, "--no-header", "--no-annotate", str(source)], capture_output=True, text=True, check=True
    )
    return made.stdout


def _run(command: Sequence[str]) -> str:
    """Run a command quietly. Returns its last line where it fails."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    return f"{Path(command[0]).name}: {said[-1] if said else f'exit code {done.returncode}'}"


def _report(what: str, problem: str) -> None:
    print(f"{what}: " + (f"not installed: {problem}; its tests are skipped" if problem else "installed"), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
