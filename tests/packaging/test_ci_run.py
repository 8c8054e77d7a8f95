"""``.ci/run`` ends by itself, names what did not end, and lists how long each step took. make is a stand-in here."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from deploy.image.locks import ROOT

pytestmark = pytest.mark.slow

STEPS = [
    "make frameworks TORCH=1",
    "make check",
    "make test",
    "make test-newer-python",
    "make simulate SHARE=1",
    "nice -n 15 make planted-bugs SHARE=1",
    "nice -n 15 make fuzz SHARE=1",
]


def ci(
    folder: Path, *, hangs: str = "nothing", fails: str = "nothing", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run it with a make that prints its arguments, and hangs at one target or fails at one."""
    stub = folder / "make"
    cases = f"{hangs}) exec sleep 300 ;; {fails}) exit 2 ;;"
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
    return re.findall(r"^ +\d+ s  (.*)$", output, re.MULTILINE)


def test_all_steps_run_and_are_listed_with_their_seconds(tmp_path: Path) -> None:
    ended = ci(tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(listed(ended.stdout)) == sorted(STEPS)
    assert [each for each in tmp_path.iterdir() if each.name != "make"] == []


def test_a_step_that_does_not_end_is_ended_and_named_while_the_other_lanes_go_on(tmp_path: Path) -> None:
    ended = ci(tmp_path, hangs="simulate", CI_STEP_SECONDS="3")
    assert ended.returncode == 1
    assert "making simulate SHARE=1\n==> make simulate SHARE=1: FAILED: it did not end within 3 s" in ended.stdout
    assert listed(ended.stdout)[0] == "make simulate SHARE=1", "the longest first"
    assert sorted(listed(ended.stdout)) == sorted(STEPS[:5])


def test_ci_ends_at_its_limit_with_the_output_of_what_still_runs(tmp_path: Path) -> None:
    ended = ci(tmp_path, hangs="frameworks", CI_SECONDS="3", CI_STEP_SECONDS="60")
    assert ended.returncode != 0
    assert re.search(r"make frameworks TORCH=1: not at its end after \d+ s of CI", ended.stdout)
    assert "making frameworks" in ended.stdout
    assert listed(ended.stdout) == []


def test_what_a_failed_step_printed_last_is_said_again_at_the_end(tmp_path: Path) -> None:
    ended = ci(tmp_path, fails="simulate", CI_REAL_NODE="1")
    assert ended.returncode == 1
    assert "skipped: the situations on real nodes, because another step has failed" in ended.stdout
    assert ended.stdout.endswith("==> of make simulate SHARE=1, which failed:\nmaking simulate SHARE=1\n")
