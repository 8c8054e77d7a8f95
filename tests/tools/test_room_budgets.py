"""Each room has a budget of lines and files of Python. Who raises one says in the commit what the lines are worth."""

from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = ROOT / "muster"
BESIDE: Final = ("deploy", "tools", "benchmarks")
"""Rooms outside of the package: they count as product, and not among its files."""
REST: Final = "others"
"""The rooms without a row: what programs import, and the modules beside the rooms."""


class Budget(NamedTuple):
    """The most that a room may have. ``goal`` is how many lines it should come to: lower ``lines`` on the way there."""

    room: str
    lines: int
    files: int
    goal: int


BUDGETS: Final = (
    Budget("state", 17_119, 107, 12_800),
    Budget("local", 8_795, 63, 8_600),
    Budget("daemon", 8_559, 47, 6_200),
    Budget("kinds", 7_440, 64, 6_000),
    Budget("api", 7_861, 59, 6_300),
    Budget("cli", 7_838, 69, 5_700),
    Budget("watchers", 5_382, 35, 5_200),
    Budget("client", 4_282, 28, 3_300),
    Budget("kube", 3_629, 24, 3_400),
    Budget("reconcilers", 2_889, 21, 2_800),
    Budget("metrics", 2_391, 16, 2_000),
    Budget("assist", 1_338, 6, 1_300),
    Budget("rollcall", 843, 4, 800),
    Budget("tracking", 691, 4, 700),
    Budget("deploy", 4_052, 49, 3_300),
    Budget("tools", 881, 12, 900),
    Budget("benchmarks", 2_792, 25, 2_300),
    Budget(REST, 920, 12, 500),
)
PRODUCT_FILES: Final = 559
MEDIAN: Final = 130
"""Lines of the file in the middle: it says how many files a reader opens for one idea."""


def sizes() -> dict[str, list[int]]:
    """The lines of each file, by the room that has it."""
    rooms = {each.room for each in BUDGETS}
    found: dict[str, list[int]] = {room: [] for room in rooms}
    for file in PRODUCT.rglob("*.py"):
        first = file.relative_to(PRODUCT).parts[0]
        found[first if first in rooms else REST].append(lines_of(file))
    for room in BESIDE:
        found[room] = [lines_of(file) for file in (ROOT / room).rglob("*.py")]
    return found


def lines_of(file: Path) -> int:
    """How many lines the file has."""
    return len(file.read_text(encoding="utf-8").splitlines())


def files_of(found: dict[str, list[int]]) -> list[int]:
    """The lines of each file of the package."""
    return [lines for room, files in found.items() if room not in BESIDE for lines in files]


def table(found: dict[str, list[int]]) -> str:
    """One line for each room, and one for all."""
    rows = [f"{'room':12} {'lines':>7} {'most':>7} {'goal':>7} {'files':>6} {'most':>5}"]
    for each in BUDGETS:
        lines = found[each.room]
        rows.append(f"{each.room:12} {sum(lines):7} {each.lines:7} {each.goal:7} {len(lines):6} {each.files:5}")
    every = files_of(found)
    most, goal = (sum(column) for column in zip(*((each.lines, each.goal) for each in BUDGETS), strict=True))
    rows.append(f"{'product':12} {sum(map(sum, found.values())):7} {most:7} {goal:7} {len(every):6} {PRODUCT_FILES:5}")
    return "\n".join((*rows, f"the file in the middle has {median(every):.0f} lines"))


@pytest.mark.drift
def test_no_room_grows_beyond_its_budget() -> None:
    found = sizes()
    shown = table(found)
    print(shown)  # with `pytest -s`; pytest shows it of a failure
    over = [each.room for each in BUDGETS if sum(found[each.room]) > each.lines or len(found[each.room]) > each.files]
    assert not over, f"over their budget: {', '.join(over)}\n{shown}"


@pytest.mark.drift
def test_a_file_holds_a_whole_idea() -> None:
    """The files do not become smaller and more."""
    every = files_of(sizes())
    assert (len(every) <= PRODUCT_FILES, median(every) >= MEDIAN) == (True, True), table(sizes())
