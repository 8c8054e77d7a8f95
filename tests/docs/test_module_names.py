"""A module that a docstring, a comment or a page names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(each.name for each in (ROOT / "muster").iterdir() if (each / "__init__.py").is_file())
NAMED = re.compile(rf"`(?:muster\.)?((?:{'|'.join(ROOMS)})(?:\.[a-z_]+)+)`")
OTHERS = ("jax.distributed", "torch.distributed", "daemon.json")
"""What begins like a room, and is of another package or a file."""

pytestmark = pytest.mark.drift


def is_there(name: str) -> bool:
    """Whether the name is that of a module or package below ``muster``, or of something that one of them has."""
    at = ROOT.joinpath("muster", *name.split("."))
    module = at.parent.with_suffix(".py") if at.parent.with_suffix(".py").is_file() else at.parent / "__init__.py"
    return at.is_dir() or at.with_suffix(".py").is_file() or at.name in names_of(module)


def names_of(module: Path) -> set[str]:
    """The words of a module that can be names; empty for one that is not there."""
    return set(re.findall(r"\w+", module.read_text(encoding="utf-8"))) if module.is_file() else set()


def test_a_module_that_is_named_is_there() -> None:
    sources = [*(ROOT / "muster").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    pages = [each for each in (ROOT / "docs").rglob("*.md") if each.parent.name != "adr"]
    names = [
        (str(each.relative_to(ROOT)), name)
        for each in (*sources, *pages)
        for name in NAMED.findall(each.read_text(encoding="utf-8"))
        if not (name.startswith(OTHERS) or name.endswith(".py"))
    ]
    assert len(names) >= 10
    assert [each for each in names if not is_there(each[1])] == []
