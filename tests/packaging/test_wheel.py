"""The wheel owns one name in site-packages, and shares them with python-daemon, which owns ``daemon``."""

import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

import muster
from tests.packaging.conftest import ROOT, Environment

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packaging")]


def test_the_wheel_owns_muster_and_its_metadata_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {PurePosixPath(name).parts[0] for name in names}
    assert tops == {"muster", f"musterd-{muster.__version__}.dist-info"}


def test_the_wheel_holds_every_source_file_exactly_once(wheel: Path) -> None:
    packed = Counter(name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("muster/"))
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "muster").rglob("*.py")}
    assert "muster/state/vocabulary/plan.py" in sources
    assert {name for name in packed if name.endswith(".py")} == sources
    assert set(packed.values()) == {1}
    assert {
        "muster/py.typed",
        "muster/kinds/jax/starter.yaml",
        *(f"muster/daemon/web/page/{n}" for n in ("style.css", "page.js")),
    } <= set(packed)


def test_musterd_and_python_daemon_are_installed_and_removed_side_by_side(
    wheel: Path, bare: Callable[[str], Environment]
) -> None:
    environment = bare("python-daemon")
    installed = environment.install(f"{wheel}[daemon]")
    assert installed.returncode == 0, installed.stderr
    assert runs(environment)
    assert daemonizes(environment)

    assert environment.pip("uninstall", "--quiet", "--yes", "python-daemon").returncode == 0
    assert runs(environment)
    assert not daemonizes(environment)

    assert environment.install("python-daemon").returncode == 0
    assert environment.pip("uninstall", "--quiet", "--yes", "musterd").returncode == 0
    assert daemonizes(environment)
    assert environment.python("import muster").returncode != 0
    assert not list(environment.site_packages.glob("muster*"))
    assert not list(environment.path.glob("bin/muster*"))


def runs(environment: Environment) -> bool:
    """Whether ``musterd --help`` lists its settings."""
    shown = environment.run("musterd", "--help")
    return shown.returncode == 0 and "--kubeconfig" in shown.stdout


def daemonizes(environment: Environment) -> bool:
    """Whether ``import daemon`` is python-daemon's module."""
    return environment.python("import daemon; daemon.DaemonContext").returncode == 0
