"""What `make frameworks` prints while it installs, with commands that stand in for pip."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.frameworks import __main__ as frameworks
from tests.frameworks.__main__ import JUPYTER_LOCK, LOCK, TORCH_LOCK

PIP = """
Collecting torch==2.15.0 (from -r torch.txt (line 700))
  Downloading torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl (899.8 MB)
Collecting numpy==2.3.0
  Downloading numpy-2.3.0-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (62 kB)
  Using cached numpy-2.3.0-cp311-cp311-manylinux_2_28_x86_64.whl (16.9 MB)
Installing collected packages: numpy, torch
"""
SHOWN = """\
  Downloading torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl (899.8 MB)
  Using cached numpy-2.3.0-cp311-cp311-manylinux_2_28_x86_64.whl (16.9 MB)
  unpacking 2 packages ...
"""


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The commands that are run; in the place of pip, one that writes ``PIP``."""
    ran: list[Sequence[str]] = []
    run = frameworks.run

    def instead(command: Sequence[str], hears: Callable[[str], None] = lambda _: None) -> str:
        ran.append(command)
        return run([sys.executable, "-c", f"print({PIP!r})"], hears) if "install" in command else ""

    monkeypatch.setattr(frameworks, "run", instead)
    return ran


@pytest.mark.parametrize(
    ("lock", "cost"),
    [(LOCK, "600 MB, minutes"), (JUPYTER_LOCK, "30 MB"), (TORCH_LOCK, "6 GB, of which 3 GB are fetched")],
)
def test_size_and_time_are_printed_before_anything_is_fetched_and_then_each_package(
    lock: Path, cost: str, commands: list[Sequence[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert frameworks.install_environment(tmp_path, lock, "the current torch") == ""
    first, _, others = capfd.readouterr().out.partition("\n")
    assert first.startswith(f"installing the current torch into {tmp_path}: ")
    assert f" packages ({cost}" in first
    assert others == SHOWN
    assert "--quiet" not in commands[-1]
    assert frameworks.install_environment(tmp_path, lock, "the current torch") == ""
    assert capfd.readouterr().out == ""


def test_of_a_command_that_fails_the_last_line_is_the_reason(capfd: pytest.CaptureFixture[str]) -> None:
    fails = [sys.executable, "-c", "import sys; print('Downloading a', flush=True); sys.exit('ERROR: no disk\\n')"]
    assert frameworks.run(fails) == f"{Path(sys.executable).name}: ERROR: no disk"
    assert frameworks.run([sys.executable, "-c", "raise SystemExit(7)"]).endswith(": exit code 7")
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["--help"], ["--tourch"]])
def test_nothing_is_installed_for_help_or_an_unknown_option(
    arguments: list[str], commands: list[Sequence[str]]
) -> None:
    with pytest.raises(SystemExit):
        frameworks.main(arguments)
    assert commands == []
