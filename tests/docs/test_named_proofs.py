"""What pages name as their proof is there: functions with surviving mutants, and the tests and commands of hangs."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.hangs.gang import SAYS as JAX_HALTS
from tests.recorder.gang import PROGRAMS
from tests.recorder.gang import SAYS as TORCH_HALTS

ROOT = Path(__file__).parents[2]
MUTANTS = re.findall(r"^\| `([\w/.]+)` `(\w+)` \|", (ROOT / "docs" / "surviving-mutants.md").read_text(), re.MULTILINE)
HANGS = (ROOT / "docs" / "hangs.md").read_text(encoding="utf-8")
TABLE = HANGS.partition("| shown by |\n|---|---|---|---|---|---|\n")[2].partition("\n\n")[0].splitlines()
CELLS = [line.rstrip(" |").rpartition(" | ")[2] for line in TABLE]
"""The last cell of each row, which names what shows it."""
NODE = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
COMMAND = re.compile(r"`(python -m [^`]+)`")


def check_node(path: str, name: str) -> None:
    """The file is there, and has the test."""
    assert (ROOT / path).is_file(), f"there is no {path}"
    source = (ROOT / path).read_text(encoding="utf-8")
    assert not name or re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), f"{path} has no {name}"


def check_command(line: str) -> None:
    """The program is there and takes the options; of those of argparse only their names are checked."""
    _, _, module, *words = shlex.split(line)
    folder = ROOT.joinpath(*module.split("."))
    if folder.is_dir():
        folder, module = folder / "__main__", f"{module}.__main__"
    path = folder.with_suffix(".py")
    assert path.is_file(), f"{module} is no program"
    command = getattr(import_module(module), "command", None)
    if isinstance(command, click.Command):
        command.make_context(module, words).close()
        return
    source = path.read_text(encoding="utf-8")
    missing = [word for word in words if word.startswith("--") and f'"{word}"' not in source]
    assert not missing, f"{module} has no option {missing}"


def played(module: str, option: str) -> set[str]:
    """The values of an option in the commands of the table."""
    lines = [line for cell in CELLS for line in COMMAND.findall(cell) if f" {module} " in f"{line} "]
    return {value for line in lines for value in re.findall(rf"--{option} (\w+)", line)}


def test_the_page_of_mutants_has_rows() -> None:
    assert MUTANTS


@pytest.mark.parametrize(("file", "function"), MUTANTS)
def test_the_function_of_a_surviving_mutant_is_there(file: str, function: str) -> None:
    source = (ROOT / "muster" / "state" / file).read_text(encoding="utf-8")
    assert re.search(rf"^ *def {function}\(", source, re.MULTILINE)


def test_the_table_of_hangs_has_rows_of_each_framework() -> None:
    assert {line.split(" | ")[0].removeprefix("| ") for line in TABLE} == {
        "jax", "pytorch", "any on NCCL", "HuggingFace Trainer", "xgboost"}  # fmt: skip


@pytest.mark.parametrize("cell", CELLS)
def test_each_row_of_the_table_of_hangs_names_a_test_or_a_command(cell: str) -> None:
    assert NODE.findall(cell) or COMMAND.findall(cell)


@pytest.mark.parametrize(("path", "name"), NODE.findall(HANGS))
def test_a_test_that_the_page_of_hangs_names_is_there(path: str, name: str) -> None:
    check_node(path, name)


@pytest.mark.parametrize("line", COMMAND.findall(HANGS))
def test_a_command_that_the_page_of_hangs_names_takes_its_options(line: str) -> None:
    check_command(line)


def test_the_table_of_hangs_has_each_way_to_come_to_a_halt_that_is_played() -> None:
    assert played("tests.hangs", "kind") == set(JAX_HALTS)
    assert played("tests.recorder", "kind") == set(TORCH_HALTS)
    assert {"torch", *played("tests.recorder", "program")} == set(PROGRAMS), "torch is the default"


@pytest.mark.parametrize(
    "line",
    ["python -m tests.nowhere", "python -m tests.hangs --kind melts", "python -m tests.recorder --program none"],
)
def test_a_command_that_is_not_there_is_seen(line: str) -> None:
    with pytest.raises((AssertionError, click.UsageError)):
        check_command(line)


@pytest.mark.parametrize(("path", "name"), [("tests/nowhere.py", ""), ("tests/recorder/test_named.py", "test_no_rank")])
def test_a_test_that_is_not_there_is_seen(path: str, name: str) -> None:
    with pytest.raises(AssertionError):
        check_node(path, name)
