"""Folders: no circle of imports between the units of a package, which are its files and its folders.

Every import counts: those at the head of a file, inside a function, below ``TYPE_CHECKING``, and of what a text names
to be loaded later, such as ``"muster.cli.commands.run:run"``. Who changes a unit can then read what it rests on alone.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

MUSTER = Path(__file__).parents[2] / "muster"
Imports = Mapping[str, Mapping[str, list[str]]]
"""By importing and imported unit: the imports, as ``file imports file``."""


def _name(file: Path, root: Path) -> str:
    parts = file.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_of(root: Path) -> dict[str, set[str]]:
    """By module: the modules of the same tree that it imports. A folder stands for its ``__init__.py``."""
    files = {_name(file, root): file for file in root.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for module, file in files.items():
        package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
        wanted = set(_imported(ast.parse(file.read_text()), package, files))
        found[module] = {name for name in wanted if name in files and name != module}
    return found


def _imported(tree: ast.Module, package: list[str], files: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                yield full if (full := f"{source}.{alias.name}") in files else source
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ":" in node.value:
            yield node.value.partition(":")[0]


def units(package: str, imports: Mapping[str, set[str]]) -> Imports:
    """What the units of one package import of each other; ``__init__`` is the package's own file."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    inside = f"{package}."
    for module, wanted in imports.items():
        for other in wanted:
            if all(f"{name}.".startswith(inside) for name in (module, other)):
                here, there = (f"{name}.__init__".removeprefix(inside).split(".")[0] for name in (module, other))
                if here != there:
                    found[here][there].append(f"{module} imports {other}")
    return found


def circles(between: Imports) -> list[set[str]]:
    """The units that import each other in a circle, over however many others."""
    reached: dict[str, set[str]] = {}
    for start in between:
        seen, left = set[str](), [start]
        while left:
            for unit in between.get(left.pop(), ()):
                if unit not in seen:
                    seen.add(unit)
                    left.append(unit)
        reached[start] = seen
    found: list[set[str]] = []
    for start, seen in reached.items():
        if start in seen and not any(start in circle for circle in found):
            found.append({unit for unit in seen if start in reached.get(unit, ())})
    return found


def text(package: str, circle: set[str], between: Imports) -> str:
    """A circle with its imports, for the message of the test."""
    lines = [f"{package}: {', '.join(sorted(circle))} import each other"]
    for here in sorted(circle):
        for there in sorted(circle.intersection(between.get(here, ()))):
            lines += [f"  {here} -> {there}: {line}" for line in sorted(between[here][there])]
    return "\n".join(lines)


def packages(root: Path) -> list[str]:
    """Every folder of the tree that holds modules."""
    modules = {_name(file, root) for file in root.rglob("*.py")}
    return sorted({".".join(module.split(".")[:-1]) for module in modules if "." in module})


@pytest.mark.parametrize("package", packages(MUSTER))
def test_no_files_and_folders_of_a_package_import_each_other_in_a_circle(package: str) -> None:
    between = units(package, imports_of(MUSTER))
    found = circles(between)
    assert not found, "\n".join(text(package, circle, between) for circle in found)


@pytest.mark.parametrize(
    ("second", "line"),
    [
        ("from pack.a import f", "from pack.b.deep import f"),
        ("import pack.a", "from pack.b import deep"),
        ("from .. import a", "import pack.b.deep"),
        ("def g():\n    from pack.a import f", "from .b.deep import f"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.a import f", "from pack.b.deep import f"),
        ("from pack.c import f", "from pack.b.deep import f"),
        ('VERB = "pack.a:f"', 'VERB = "pack.b.deep:f"'),
    ],
)
def test_a_circle_is_seen_however_it_is_imported(tmp_path: Path, second: str, line: str) -> None:
    pack = tmp_path / "pack"
    (pack / "b").mkdir(parents=True)
    for file, source in {
        "__init__.py": "",
        "b/__init__.py": "",
        "a.py": line,
        "b/deep.py": second,
        "c.py": "from pack.a import f",
    }.items():
        (pack / file).write_text(source)
    between = units("pack", imports_of(pack))
    assert [{"a", "b"} <= circle for circle in circles(between)] == [True]
    assert "pack.b.deep imports pack." in text("pack", circles(between)[0], between)
