"""`python -m tests.flakes play` with small tests: what is played again, recorded, and held back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.image.locks import ROOT
from tests.flakes import record
from tests.flakes.play import ONCE_VARIABLE
from tests.outcomes.outcome import PLUGINS_VARIABLE, VARIABLE

pytestmark = pytest.mark.slow
FLAKY = """
import pathlib, pytest
seen = pathlib.Path(__file__).with_suffix('.seen')
def test_passes(): pass
@pytest.mark.xdist_group("one")
def test_flaky():
    known = seen.exists()
    seen.touch()
    assert known, 'the first time'
"""
SKIPS = "import pytest\ndef test_skips(): pytest.skip('no such thing')\n"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of flakes, and a folder that CI would look into."""
    monkeypatch.setenv(record.VARIABLE, str(tmp_path / "flakes.jsonl"))
    for each in (VARIABLE, ONCE_VARIABLE, PLUGINS_VARIABLE, "PYTEST_ADDOPTS"):
        monkeypatch.delenv(each, raising=False)
    return tmp_path / "flakes.jsonl"


def play(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "test_small.py"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tests.flakes", "play", "--", *options, "-m", "not slow", str(file)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def test_a_flake_of_a_group_is_played_again_recorded_with_its_failure_and_lands(tmp_path: Path, kept: Path) -> None:
    played = play(tmp_path, FLAKY, "-n", "1", "--dist", "loadgroup")
    assert played.returncode == 0, played.stdout + played.stderr
    assert "flaky, passed when alone: 1" in played.stdout
    (run,) = record.load(kept)
    assert (run.kind, run.tests) == ("not slow", 2)
    (row,) = run.flakes
    assert row.test == "test_small.py::test_flaky"
    assert "the first time" in row.why


def test_what_fails_twice_is_held_back_and_no_flake(tmp_path: Path, kept: Path) -> None:
    played = play(tmp_path, "def test_fails(): assert not 'ever'")
    assert played.returncode == 1
    assert record.load(kept)[0].flakes == ()


def test_nothing_is_played_again_where_every_failure_is_to_be_seen(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ONCE_VARIABLE, "1")
    assert play(tmp_path, FLAKY).returncode == 1
    assert not kept.exists()


@pytest.mark.parametrize("text", ["import no_such_module", "def not_a_test(): pass"])
def test_tests_that_cannot_be_collected_are_held_back(tmp_path: Path, kept: Path, text: str) -> None:
    assert play(tmp_path, text).returncode == 1
