"""The command with closed, full or narrow standard streams: one line and an exit status, and no traceback."""

import subprocess
import sys
from pathlib import Path

import pytest


def muster(
    redirections: str, *words: str, cwd: Path, before: str = "", **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run ``muster`` by a shell with these redirections, after another command."""
    line = f'{before} exec {sys.executable} -P -m muster.cli "$@" {redirections}'
    path = {"PYTHONPATH": ":".join(sys.path), "MUSTER_HOME": str(cwd / "home"), "HOME": str(cwd)}
    command = ["/bin/sh", "-c", line, "muster", *words]
    return subprocess.run(command, env=path | variables, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_exit_status(tmp_path: Path, closed: str) -> None:
    assert muster(closed, "version", cwd=tmp_path).returncode == 0
    ended = muster(closed, "lint", "-", cwd=tmp_path)
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False), ended.stderr


def test_a_full_disk_below_the_output_is_one_line(tmp_path: Path) -> None:
    ended = muster(">/dev/full", "version", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "muster: No space left on device\n")


def test_a_character_that_the_locale_lacks_is_escaped(tmp_path: Path) -> None:
    manifest = tmp_path / "m.yaml"
    manifest.write_text("spec: {operator: jax, image: 日本, command: echo 日本, types: {worker: {count: 1}}}")
    ended = muster("", "lint", "m.yaml", "-o", "yaml", cwd=tmp_path, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False), ended.stderr
    assert "\\u65e5" in ended.stdout


def test_a_working_directory_that_is_gone_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    home = str(tmp_path / "home")
    ended = muster("", "run", "-n", "1", "--", "true", cwd=gone, before=f"rmdir {gone};", MUSTER_HOME=home)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[-1] == "muster: No such file or directory"
