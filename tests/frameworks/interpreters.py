"""Which interpreter on this machine has a framework, without importing the framework.

Ray and XGBoost are in a virtual environment of their own, as is PyTorch where the package index has a build without
CUDA. Otherwise PyTorch is Debian's python3-torch, which only Debian's own interpreter sees. It is from 2022: what it
has not is tested with the current release, in another virtual environment, beside HuggingFace's transformers.
"""

import os
import subprocess
from functools import cache
from pathlib import Path

VARIABLE = "MUSTER_FRAMEWORKS"
"""The environment variable that names the folder of the virtual environment."""
SYSTEM_PYTHON = Path("/usr/bin/python3")
MISSING = "run `make frameworks`"
"""Why a test that needs a framework is skipped; the name of the framework goes before it."""
CURRENT_TORCH = "current torch"
"""The framework that ``python_of`` finds only in the environment of the current PyTorch."""

_MODULES = {
    "ray": "ray",
    "xgboost": "xgboost",
    "torch": "torch.distributed",
    CURRENT_TORCH: "torch.distributed",
    "transformers": "transformers",
}
_WITH_CURRENT_TORCH = (CURRENT_TORCH, "transformers")
_FIND = """
import importlib.util, pathlib, sys
package, _, part = sys.argv[1].partition(".")
found = importlib.util.find_spec(package)
folders = found.submodule_search_locations or () if found else ()
sys.exit(not any((pathlib.Path(folder) / part).exists() for folder in folders))
"""
"""Imports nothing: ``find_spec`` of a submodule imports its package, which takes torch two seconds."""


def home() -> Path:
    """The folder of the virtual environment."""
    return Path(os.environ.get(VARIABLE) or Path.home() / ".cache" / "muster-frameworks")


def jupyter_home() -> Path:
    """The folder of the virtual environment that has Jupyter's server."""
    return home() / "jupyter"


def torch_home() -> Path:
    """The folder of the virtual environment that has the current PyTorch, and transformers."""
    return home() / "torch"


@cache
def python_of(framework: str) -> Path | None:
    """The interpreter that has the framework; None where no interpreter has it.

    ``torch`` is any PyTorch, ``current torch`` only the one of torch.txt, which ``transformers`` comes with.
    """
    module = _MODULES[framework]
    folder = torch_home() if framework in _WITH_CURRENT_TORCH else home()
    candidates = (folder / "bin" / "python", *((SYSTEM_PYTHON,) if framework == "torch" else ()))
    return next((python for python in candidates if has_module(python, module)), None)


def has_module(python: Path, module: str) -> bool:
    """Whether that interpreter exists and finds the module."""
    if not python.is_file():
        return False
    return subprocess.run([python, "-c", _FIND, module], capture_output=True, check=False).returncode == 0


def reason_without(framework: str) -> str:
    """Why tests of the framework are skipped here; empty where it is installed."""
    what_to_do = "run `make frameworks TORCH=1`" if framework in _WITH_CURRENT_TORCH else MISSING
    return "" if python_of(framework) else f"no interpreter has {framework}: {what_to_do}"
