"""The benchmark's report: what people read and what machines read."""

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as bench
from benchmarks.harness import report
from benchmarks.harness.report import Result

QUICK = Result("pod event, CPU", 10.24, "us", 25.0, peer="typed models", peer_value=1020.0)
FAT = Result("at rest", 93.0, "MB", 80.0, peer="", peer_value=None)
COUNTED = Result("writes once stable", 0, "writes", 0, peer="", peer_value=None)


def test_a_row_has_value_budget_verdict_and_how_many_times_the_peer_needs() -> None:
    heads, row, over = report.table([QUICK, FAT]).splitlines()
    assert heads.split() == ["name", "value", "unit", "budget", "ok", "peer", "peer", "value", "ratio"]
    cells = [cell.strip() for cell in row.split("  ") if cell.strip()]
    assert cells == ["pod event, CPU", "10.2", "us", "25", "ok", "typed models", "1,020", "99.6x"]
    assert " OVER" in over
    assert row.index("us") == over.index("MB") == heads.index("unit"), "columns are below their heads"


def test_the_json_is_a_list_of_results_with_every_field(tmp_path: Path) -> None:
    report.write([FAT], tmp_path / "out.json")
    (written,) = json.loads((tmp_path / "out.json").read_text())
    measured = {"name": "at rest", "value": 93.0, "unit": "MB", "budget": 80.0, "ok": False}
    assert written == {**measured, "peer": "", "peer_value": None}


@pytest.mark.parametrize(("results", "code"), [([QUICK, COUNTED], 0), ([QUICK, FAT], 1)])
def test_the_exit_code_shows_whether_every_budget_holds(
    results: list[Result], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "measure", lambda names: results)
    assert bench.main(["--out", str(tmp_path / "out.json")]) == code


def test_an_unknown_benchmark_is_refused_with_the_names_of_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        bench.main(["--only", "nonsense"])
    assert refused.value.code == 2
    assert "decision" in capsys.readouterr().err


def test_every_benchmark_in_the_list_is_a_module_beside_it() -> None:
    here = Path(bench.__file__).parent
    beside = {".".join(path.relative_to(here).with_suffix("").parts) for path in here.rglob("*.py")}
    assert set(bench.BENCHMARKS) <= beside
