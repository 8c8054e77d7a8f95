"""Every command in README.md is executed, in order, or named here with the reason why not."""

import shutil
from pathlib import Path

import pytest

from tests.docs.pages import blocks, run_script

ROOT = Path(__file__).parents[2]
LINES = [line.partition(" #")[0].strip() for block in blocks(ROOT / "README.md") for line in block.body.splitlines()]
NOT_RUN = {
    "make demo": "CI runs it by itself (.ci/run); it takes a minute and a half",
    "make test": "this test is a part of it",
    ". .venv/bin/activate": "the PATH of the shell has the programs of this environment",
    "muster local up": "the fixture has started it: it runs until it is interrupted",
}


def commands() -> list[str]:
    """The lines that are run; kubectl's where there is a kubectl."""
    return [line for line in LINES if line not in NOT_RUN and (shutil.which("kubectl") or not line.startswith("kubectl"))]


@pytest.mark.drift
def test_what_is_not_run_stands_in_the_readme() -> None:
    assert set(NOT_RUN) <= set(LINES)
    assert len(commands()) >= 12


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_every_command_of_the_readme_works(shell: dict[str, str], tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "examples" / "jax" / "train.py", work / "train.py")
    shown = run_script("set -euo pipefail\n" + "\n".join(commands()), shell, work)
    for words in ("4/4 ranks arrived", "muster lint manifest.yaml", "1 file is in order", "rank 0 | done, loss"):
        assert words in shown, f"{words}\n{shown}"
