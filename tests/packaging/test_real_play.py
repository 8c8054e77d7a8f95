"""How `make real` and `make real-node` play what failed, seen with tests that need no cluster."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from tests.real import rows
from tests.real.ground import VARIABLE, Ground
from tests.real.play import Play, last_line

CONFTEST = "from tests.real.conftest import pytest_configure, pytest_runtest_makereport, row"
PASSES = "def test_a(row): row.happens('a'); row.says('all is well')"
FAILS = "def test_b(row): row.happens('b'); row.says('nothing'); assert 'nothing' == 'rank 1 is absent'"
FAILS_AT_FIRST = """
import pathlib
def test_c(row):
    row.happens('c')
    row.says('rank 2')
    seen = pathlib.Path(__file__).with_suffix('.seen')
    if not seen.exists():
        seen.touch()
        assert not 'busy'
"""
FAILS_WITHOUT_A_ROW = "def test_d(): assert not 'rowless'"


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    values: dict[str, object] = {each.name: "" for each in fields(Ground)}
    made = Ground(**{**values, "folder": str(tmp_path), "rows": str(tmp_path / "rows.jsonl")})  # type: ignore[arg-type]
    described = tmp_path / "ground.json"
    described.write_text(json.dumps({each: getattr(made, each) for each in values}))
    monkeypatch.setenv(VARIABLE, str(described))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return made


def play(ground: Ground, *tests: str) -> bool:
    folder = Path(ground.folder) / "situations"
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    for number, test in enumerate(tests):
        (folder / f"test_{number}.py").write_text(test)
    return Play(str(folder), [], ground, 100.0).all(("-m", "not alone"), ("-m", "alone"))


def verdicts(ground: Ground) -> list[object]:
    return [row["verdict"] for row in rows.load(Path(ground.rows))]


def test_what_failed_beside_others_and_passes_alone_is_good_and_says_so(
    ground: Ground, capfd: pytest.CaptureFixture[str]
) -> None:
    assert play(ground, PASSES, FAILS_AT_FIRST)
    assert verdicts(ground) == ["ok", "ok again"]
    assert last_line(ground, 0.0).startswith("2 situations, 0 not as they should be, 1 only when played again, ")
    below = capfd.readouterr().out.rpartition("ok again: ")[2]
    assert "test_1.py::test_c" in below
    assert "assert not 'busy'" in below


def test_what_fails_twice_is_bad_and_its_reason_is_printed_last(
    ground: Ground, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not play(ground, PASSES, FAILS)
    assert verdicts(ground) == ["ok", "FAILED"]
    assert last_line(ground, 0.0).startswith("2 situations, 1 not as they should be, ")
    assert "assert 'nothing' == 'rank 1 is absent'" in capfd.readouterr().out.rpartition("FAILED: ")[2]


def test_a_failure_without_a_row_is_not_forgotten(ground: Ground) -> None:
    assert not play(ground, PASSES, FAILS_WITHOUT_A_ROW)
    assert verdicts(ground) == ["ok"]


def test_nothing_played_is_not_good(ground: Ground) -> None:
    assert not play(ground)
