"""How `make real` and `make real-node` play what failed, seen with tests that need no cluster."""

import json
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from tests.flakes import record
from tests.real import __main__ as on_a_control_plane
from tests.real import rows
from tests.real.ground import VARIABLE, Ground
from tests.real.play import Choice, Play, last_line, unplayed
from tests.real_node import __main__ as on_nodes
from tests.real_node import leftovers

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
    made = Ground(**{**values, "folder": str(tmp_path)})  # type: ignore[arg-type]
    described = tmp_path / "ground.json"
    described.write_text(json.dumps({each: getattr(made, each) for each in values}))
    monkeypatch.setenv(VARIABLE, str(described))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(record.VARIABLE, str(tmp_path / "flakes.jsonl"))
    return made


def play(ground: Ground, *tests: str, choice: Choice | None = None) -> bool:
    folder = Path(ground.folder) / "situations"
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    for number, test in enumerate(tests):
        (folder / f"test_{number}.py").write_text(test)
    return Play(str(folder), choice or Choice(), ground, 100.0).all(("not alone",), ("alone",))


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


def test_marks_that_are_asked_for_choose_within_each_part(ground: Ground, capfd: pytest.CaptureFixture[str]) -> None:
    alone = f"import pytest\n@pytest.mark.alone\n{PASSES}"
    core = f"import pytest\n@pytest.mark.core\n{PASSES}"
    both = f"import pytest\n@pytest.mark.alone\n@pytest.mark.core\n{PASSES}"
    assert play(ground, PASSES, alone, core, both, choice=Choice("core"))
    assert [str(row["test"])[-17:] for row in rows.load(Path(ground.rows))] == [
        "test_2.py::test_a",
        "test_3.py::test_a",
    ]
    assert "not played: 2 of the 4 situations of " in capfd.readouterr().out


def test_what_was_not_played_is_named_by_file_and_of_a_table_by_its_row() -> None:
    names = ["tests/real/situations/test_a.py::test_one", "tests/real/situations/test_a.py::test_rows[two]"]
    assert [*unplayed("tests/real", names, 7)] == ["not played: 2 of the 7 situations of tests/real", "  a: one, [two]"]


@pytest.mark.parametrize("program", [on_a_control_plane, on_nodes])
def test_help_is_printed_and_nothing_is_made_or_removed_for_it(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something is made")

    for name in ("ground", "programs", "images", "missing"):
        if hasattr(program, name):
            monkeypatch.setattr(program, name, refuse)
    monkeypatch.setattr(leftovers, "remove", refuse)
    with pytest.raises(SystemExit) as ended:
        program.main(["--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: python -m ")


def test_nothing_played_is_not_good(ground: Ground) -> None:
    assert not play(ground)
