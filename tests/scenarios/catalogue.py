"""All scenarios by name."""

from functools import cache
from importlib import import_module
from pathlib import Path

from tests.scenarios.scenario import Scenario


@cache
def scenarios() -> dict[str, Scenario]:
    """Every row of every table beside this file, sorted by name: plans and seeds depend on this order."""
    files = [file.stem for file in Path(__file__).parent.glob("[!_]*.py") if file.stem != "catalogue"]
    rows = [row for name in files for row in getattr(import_module(f"tests.scenarios.{name}"), "SCENARIOS", ())]
    by_name = {row.name: row for row in sorted(rows, key=lambda row: row.name)}
    assert len(by_name) == len(rows), "two scenarios have one name"
    return by_name
