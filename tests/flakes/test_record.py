"""The file of flakes: what is in it, and which tests have flaked too often."""

from pathlib import Path

from tests.flakes.record import OFTEN, RUNS, Run, append, load, often
from tests.outcomes.outcome import Outcome

FLAKE = Outcome("tests/e2e/test_a.py::test_a", "failed", 2.5, "E   assert 1 == 2\ntest_a.py:3: AssertionError", 71.5)


def run(*flakes: Outcome, kind: str = "cluster") -> Run:
    return Run("2026-11-28T08:00:00+00:00", kind, 213, flakes)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "muster" / "flakes.jsonl"
    assert load(file) == []
    runs = [run(FLAKE), run()]
    for each in runs:
        append(file, each)
    assert load(file) == runs


def test_a_test_that_flaked_twice_in_the_last_runs_of_its_kind_is_named() -> None:
    assert often([run(FLAKE), run()]) == {}
    assert often([run(FLAKE), run(), run(FLAKE)]) == {FLAKE.test: OFTEN}


def test_runs_of_another_kind_do_not_push_a_flake_out_and_older_ones_do_not_count() -> None:
    others = [run(kind="slow")] * RUNS
    assert often([run(FLAKE), *others, run(FLAKE)]) == {FLAKE.test: OFTEN}
    assert often([run(FLAKE), *[run()] * (RUNS - 1), run(FLAKE)]) == {}
