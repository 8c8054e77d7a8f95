"""A wheel of this source tree, and bare virtual environments to install it into."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class Environment:
    """A virtual environment without pip; the pip of the running interpreter installs into it."""

    def __init__(self, path: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
        self.path = path

    @property
    def site_packages(self) -> Path:
        return next(self.path.glob("lib/python*/site-packages"))

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of its ``bin``, outside the source tree and without PYTHONPATH."""
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        program = [str(self.path / "bin" / command), *arguments]
        return subprocess.run(program, cwd=self.path, env=environ, capture_output=True, text=True, check=False)

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        return self.run("python", "-c", code)

    def pip(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pip for it, with the versions of constraints.txt."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.path), "--disable-pip-version-check", "--no-input"]
        return subprocess.run([*pip, *arguments], cwd=self.path, capture_output=True, text=True, check=False)

    def install(self, *requirements: str) -> subprocess.CompletedProcess[str]:
        """Install with the versions of constraints.txt; give up soon where the index does not answer."""
        options = ("--no-compile", "--timeout", "15", "--retries", "1", "--constraint", str(ROOT / "constraints.txt"))
        return self.pip("install", "--quiet", *options, *requirements)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


def build(tree: Path, out: Path) -> Path:
    """Build the wheel as a release does: from the sdist, not from the tree itself."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture
def bare(tmp_path: Path) -> Callable[[str], Environment]:
    """Make a bare virtual environment with one package from the index. Skip where the index cannot be reached."""

    def make(first: str) -> Environment:
        environment = Environment(tmp_path / "venv")
        installed = environment.install(first)
        if installed.returncode != 0:
            reason = (installed.stderr.strip() or "pip gave no reason").splitlines()[0]
            pytest.skip(f"pip cannot install {first} from the package index: {reason[:300]}")
        return environment

    return make
