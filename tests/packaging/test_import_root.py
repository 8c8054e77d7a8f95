"""The rooms are folders of the package, and the links at the top of the repository are for readers only."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, Environment, build

ROOMS = ("daemon", "metrics", "reconcilers", "state", "watchers")
NOT_PACKED = (".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "mutants")


@pytest.fixture(scope="module")
def without_links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source tree as a tool leaves it that knows no links: each is a text file that holds where it led.

    So do ``git clone -c core.symlinks=false``, git on Windows, and Python's zipfile.
    """
    tree = tmp_path_factory.mktemp("unpacked") / "muster"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(*NOT_PACKED))
    for link in [path for path in tree.rglob("*") if path.is_symlink()]:
        target = str(link.readlink())
        link.unlink()
        link.write_text(target)
    return tree


def test_the_names_at_the_top_lead_into_the_package() -> None:
    if not (ROOT / "state").is_symlink():
        pytest.skip("this checkout has no symbolic links: git config core.symlinks true, and check out again")
    assert sorted(path.name for path in ROOT.iterdir() if path.is_symlink()) == list(ROOMS)
    assert [str((ROOT / room).readlink()) for room in ROOMS] == [f"muster/{room}" for room in ROOMS]


def test_no_link_is_inside_the_package() -> None:
    assert [path for path in (ROOT / "muster").rglob("*") if path.is_symlink()] == []


def test_a_checkout_without_links_imports(without_links: Path) -> None:
    imports = "; ".join(f"import muster.{room}" for room in ROOMS)
    program = f"{imports}; from muster.daemon import app; print(app.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=without_links, capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == str(without_links / "muster" / "daemon" / "app.py"), run.stderr


@pytest.mark.xdist_group("packaging")
@pytest.mark.slow
def test_an_archive_without_links_installs(without_links: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    installed = environment.pip("install", "--no-compile", "--no-deps", str(build(without_links, tmp_path)))
    assert installed.returncode == 0, installed.stderr
    packed = environment.site_packages / "muster"
    assert {room for room in ROOMS if list((packed / room).rglob("*.py"))} == set(ROOMS)
    assert not [path.name for path in environment.site_packages.iterdir() if path.name in ROOMS]


def test_no_room_is_imported_by_its_bare_name() -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("muster", "tests", "benchmarks", "deploy", "tools", "examples")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
        if name.split(".")[0] in ROOMS
    ]
    assert bare == []
