"""All scenarios by name."""

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tests.scenarios.scenario import Scenario


@cache
def tables() -> tuple[ModuleType, ...]:
    """The modules beside this one that have ``SCENARIOS``."""
    files = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py") if file.stem != "catalogue")
    modules = (import_module(f"tests.scenarios.{name}") for name in files)
    return tuple(each for each in modules if hasattr(each, "SCENARIOS"))


@cache
def scenarios() -> dict[str, Scenario]:
    """Every row of every table, sorted by name: plans and seeds depend on this order."""
    rows: list[Scenario] = [row for table in tables() for row in table.SCENARIOS]
    by_name = {row.name: row for row in sorted(rows, key=lambda row: row.name)}
    assert len(by_name) == len(rows), "two scenarios have one name"
    return by_name
