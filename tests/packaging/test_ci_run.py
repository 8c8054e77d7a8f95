"""``.ci/run`` ends by itself, names what did not end, and lists how long each step took. make is a stand-in here."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from deploy.image.locks import ROOT

pytestmark = pytest.mark.slow

STEPS = [
    "make setup",
    "make frameworks TORCH=1",
    "make check",
    "make test",
    "make test-clusters",
    "make test-slow",
    "make simulate SHARE=1",
    "nice -n 15 make planted-bugs SHARE=1",
    "nice -n 15 make fuzz SHARE=1",
]


def ci(
    folder: Path, *, hangs: str = "nothing", fails: str = "nothing", does: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run it with a make that prints its arguments, hangs at one target or fails at one; ``does`` is another case."""
    stub = folder / "make"
    cases = f"{hangs}) exec sleep 300 ;; {fails}) exit 2 ;; {does}"
    stub.write_text(f'#!/bin/sh\necho "making $*"\ncase "$1" in {cases} esac\n', encoding="utf-8")
    stub.chmod(0o755)
    environ = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "TMPDIR": str(folder),
        "CI_REAL": "0",
        "CI_REAL_NODE": "0",
    }
    environ |= variables
    return subprocess.run([ROOT / ".ci" / "run"], env=environ, capture_output=True, text=True, check=False)


def listed(output: str) -> list[str]:
    """The steps in the list at the end."""
    return re.findall(r"^ +\d+ s +\d+ s of CPU  (.*)$", output, re.MULTILINE)


def test_all_steps_run_and_are_listed_with_their_seconds(tmp_path: Path) -> None:
    ended = ci(tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(listed(ended.stdout)) == sorted(STEPS)
    assert [each for each in tmp_path.iterdir() if each.name != "make"] == []
    assert "not played: all situations on real nodes, because CI_REAL_NODE is 0" in ended.stdout
    assert "\nskipped: 0 tests\n" in ended.stdout


def test_a_step_that_does_not_end_is_ended_and_named_while_the_other_lanes_go_on(tmp_path: Path) -> None:
    ended = ci(tmp_path, hangs="simulate", CI_STEP_SECONDS="3")
    assert ended.returncode == 1
    assert "making simulate SHARE=1\n==> make simulate SHARE=1: FAILED: it did not end within 3 s" in ended.stdout
    assert listed(ended.stdout)[0] == "make simulate SHARE=1", "the longest first"
    assert sorted(listed(ended.stdout)) == sorted(STEPS[:7])


def test_what_a_failed_step_printed_last_is_reported_again_at_the_end(tmp_path: Path) -> None:
    ended = ci(tmp_path, fails="simulate")
    assert ended.returncode == 1
    assert ended.stdout.endswith("==> of make simulate SHARE=1, which failed:\nmaking simulate SHARE=1\n")


def test_a_skip_that_is_not_expected_fails_ci(tmp_path: Path) -> None:
    line = '{"test": "t.py::test_a", "result": "skipped", "seconds": 0, "why": "no reason", "pressure": null}'
    ended = ci(tmp_path, does=f"test) printf '%s\\n' '{line}' >$MUSTER_OUTCOMES/1.jsonl ;;")
    assert ended.returncode == 1
    assert "NOT EXPECTED on this machine, first t.py::test_a" in ended.stdout
