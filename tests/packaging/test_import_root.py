"""The rooms are folders of the package, and the links at the top of the repository are for readers only."""

import ast
import tomllib

import pytest

from tests.packaging.conftest import ROOT

ROOMS = ("daemon", "metrics", "reconcilers", "state", "watchers")


def test_the_names_at_the_top_lead_into_the_package() -> None:
    if not (ROOT / "state").is_symlink():
        pytest.skip("this checkout has no symbolic links: git config core.symlinks true, and check out again")
    assert sorted(path.name for path in ROOT.iterdir() if path.is_symlink()) == list(ROOMS)
    assert [str((ROOT / room).readlink()) for room in ROOMS] == [f"muster/{room}" for room in ROOMS]


def test_no_link_is_inside_the_package() -> None:
    assert [path for path in (ROOT / "muster").rglob("*") if path.is_symlink()] == []


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


def test_what_tests_import_is_copied_for_the_mutants() -> None:
    """``make mutants`` plays them in a copy, and ends where one cannot be imported."""
    copied = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]["also_copy"]
    imported = {
        node.module.split(".")[0]
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    assert imported & {"benchmarks", "deploy", "examples", "muster", "tools"} <= set(copied)
