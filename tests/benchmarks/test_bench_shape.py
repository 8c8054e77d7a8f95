"""The benchmark's report: what people read and what machines read."""

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as bench
from benchmarks.harness import report
from benchmarks.harness.result import Result

QUICK = Result("pod event, CPU", 10.24, "us", 25.0, ok=True, peer="typed models", peer_value=1020.0)
FAT = Result("at rest", 93.0, "MB", 80.0, ok=False, peer="", peer_value=None)
COUNTED = Result("writes once stable", 0, "writes", 0, ok=True, peer="", peer_value=None)
FIELDS = ["name", "value", "unit", "budget", "ok", "peer", "peer_value"]


def test_a_row_says_value_budget_verdict_and_how_many_times_the_peer_needs() -> None:
    heads, row = report.table([QUICK]).splitlines()

    assert heads.split() == ["name", "value", "unit", "budget", "ok", "peer", "peer", "value", "ratio"]
    assert [cell.strip() for cell in row.split("  ") if cell.strip()] == [
        "pod event, CPU",
        "10.2",
        "us",
        "25",
        "ok",
        "typed models",
        "1,020",
        "99.6x",
    ]


def test_columns_stand_under_their_heads() -> None:
    heads, *rows = report.table([QUICK, FAT, COUNTED]).splitlines()

    unit = heads.index("unit")
    assert [row[unit:].split()[0] for row in rows] == ["us", "MB", "writes"]
    assert all(len(row[: unit - 2].rstrip()) == len(heads[: unit - 2].rstrip()) for row in rows)


def test_a_figure_over_its_budget_is_seen_at_a_glance() -> None:
    assert " OVER" in report.table([FAT])


def test_no_results_are_only_the_heads() -> None:
    assert report.table([]).startswith("name")


def test_the_json_is_a_list_of_results_with_every_field(tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    report.write([QUICK, FAT, COUNTED], out)

    written = json.loads(out.read_text())
    assert [list(row) for row in written] == [FIELDS] * 3
    assert written[1] == {
        "name": "at rest",
        "value": 93.0,
        "unit": "MB",
        "budget": 80.0,
        "ok": False,
        "peer": "",
        "peer_value": None,
    }


@pytest.mark.parametrize(("results", "code"), [([QUICK, COUNTED], 0), ([QUICK, FAT], 1)])
def test_the_exit_code_says_whether_every_budget_holds(
    results: list[Result],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench, "measure", lambda names: results)

    assert bench.main(["--out", str(tmp_path / "out.json")]) == code
    assert capsys.readouterr().out.startswith("name")


def test_a_benchmark_nobody_knows_is_refused_with_the_names_of_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as refused:
        bench.main(["--only", "nonsense"])

    assert refused.value.code == 2
    assert "decision" in capsys.readouterr().err


def test_every_benchmark_in_the_list_is_a_module_beside_it() -> None:
    here = Path(bench.__file__).parent
    beside = {".".join(path.relative_to(here).with_suffix("").parts) for path in here.rglob("*.py")}
    assert set(bench.BENCHMARKS) <= beside
