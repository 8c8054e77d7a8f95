"""How `make real` and `make real-node` play what failed, seen with tests that need no cluster."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from tests.flakes import record
from tests.real import rows
from tests.real.ground import VARIABLE, Ground
from tests.real.play import Choice, Play

CONFTEST = "from tests.real.conftest import pytest_configure, pytest_runtest_makereport, row"
PASSES = "def test_a(row): row.happens('a'); row.says('all is well')"
FAILS_WITHOUT_A_ROW = "def test_d(): assert not 'rowless'"


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    values: dict[str, object] = {each.name: "" for each in fields(Ground)}
    made = Ground(**{**values, "folder": str(tmp_path)})  # type: ignore[arg-type]
    described = tmp_path / "ground.json"
    described.write_text(json.dumps({each: getattr(made, each) for each in values}))
    monkeypatch.setenv(VARIABLE, str(described))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(record.VARIABLE, str(tmp_path / "flakes.jsonl"))
    return made


def play(ground: Ground, *tests: str) -> bool:
    folder = Path(ground.folder) / "situations"
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    for number, test in enumerate(tests):
        (folder / f"test_{number}.py").write_text(test)
    return Play(str(folder), Choice(), ground, 100.0).all(("not alone",), ("alone",))


def test_a_failure_without_a_row_is_not_forgotten(ground: Ground) -> None:
    assert not play(ground, PASSES, FAILS_WITHOUT_A_ROW)
    assert [row["verdict"] for row in rows.load(Path(ground.rows))] == ["ok"]


def test_nothing_played_is_not_good(ground: Ground) -> None:
    assert not play(ground)
