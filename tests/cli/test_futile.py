"""Which failures of an interactive run are not worth a restart."""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.cli.processes.evidence import futile


@pytest.mark.parametrize(
    "line",
    [
        f"{sys.executable} train.py",
        f"{sys.executable} -m no_such_module",
        f"{sys.executable} -m email.no_such_module",
        f"{sys.executable} -m no_such_package.module",
        f"{sys.executable} -c 'import no_such_module'",
        "/bin/sh train.sh",
        "no-such-program",
        "./train.sh",
        "/etc/passwd",
    ],
)
def test_a_program_that_is_not_there_is_futile(line: str, tmp_path: Path) -> None:
    ran = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    last = ran.stderr.splitlines()[-1]
    assert futile(ran.returncode, last) == last


@pytest.mark.parametrize("code", [126, 127])
def test_the_exit_codes_of_the_shell_need_no_line(code: int) -> None:
    assert futile(code, "")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (1, "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'"),
        (1, "RuntimeError: peer lost"),
        (2, "train.py: error: unrecognized arguments: --step"),
        (2, "tar: data.tar: Cannot open: No such file or directory"),
        (137, ""),
        (0, "python3: can't open file 'x': [Errno 2] No such file or directory"),
        (None, "ModuleNotFoundError: No module named 'x'"),
    ],
)
def test_other_failures_may_pass(code: int | None, line: str) -> None:
    assert futile(code, line) == ""
