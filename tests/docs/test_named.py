"""A module, a test or a function that a docstring, a comment or a page names is there."""

import re
from pathlib import Path

import pytest

from tests.docs.commands import ROOT
from tests.mutant_floor import EXPLAINED

ROOMS = sorted(each.name for each in (ROOT / "muster").iterdir() if (each / "__init__.py").is_file())
MODULE = re.compile(rf"`(?:muster\.)?((?:{'|'.join(ROOMS)})(?:\.[a-z_]+)+)`")
OTHERS = ("jax.distributed", "torch.distributed", "daemon.json")
"""What begins like a room, and is of another package or a file."""
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "tests" / "failures.md"]
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")

pytestmark = pytest.mark.drift


def is_there(name: str) -> bool:
    """Whether the name is that of a module or package below ``muster``, or of something that one of them has."""
    at = ROOT.joinpath("muster", *name.split("."))
    module = at.parent.with_suffix(".py") if at.parent.with_suffix(".py").is_file() else at.parent / "__init__.py"
    return at.is_dir() or at.with_suffix(".py").is_file() or at.name in names_of(module)


def names_of(module: Path) -> set[str]:
    """The words of a module that can be names; empty for one that is not there."""
    return set(re.findall(r"\w+", module.read_text(encoding="utf-8"))) if module.is_file() else set()


def absent(path: str, name: str) -> bool:
    """The file is not there, or has no such function."""
    file = ROOT / path
    if not file.is_file():
        return True
    return name != "" and not re.search(rf"^ *(async )?def {name}\(", file.read_text(encoding="utf-8"), re.MULTILINE)


def test_a_module_that_is_named_is_there() -> None:
    sources = [*(ROOT / "muster").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    pages = [each for each in (ROOT / "docs").rglob("*.md") if each.parent.name != "adr"]
    names = [
        (str(each.relative_to(ROOT)), name)
        for each in (*sources, *pages)
        for name in MODULE.findall(each.read_text(encoding="utf-8"))
        if not (name.startswith(OTHERS) or name.endswith(".py"))
    ]
    assert len(names) >= 10
    assert [each for each in names if not is_there(each[1])] == []


def test_the_tests_and_functions_that_pages_name_are_there() -> None:
    named = [found for page in PAGES for found in TEST.findall(page.read_text(encoding="utf-8"))]
    assert named
    proofs = {*named, *((f"muster/state/{path}", name) for path, name, *_ in EXPLAINED)}
    assert sorted(each for each in proofs if absent(*each)) == []
