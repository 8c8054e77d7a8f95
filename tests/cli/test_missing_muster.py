"""The advice where the program's Python does not have Muster's own modules."""

import pytest

from muster.cli.processes.stack import hint
from muster.extras import pip_argument

TRACEBACK = ["Traceback (most recent call last):", '  File "/x/train.py", line 2, in <module>', "    import muster.jax"]


@pytest.mark.parametrize("module", ["muster", "muster.jax"])
def test_it_says_which_python_lacks_it_and_where_to_get_it(module: str) -> None:
    lines = [*TRACEBACK, f"ModuleNotFoundError: No module named '{module}'"]
    assert hint(lines, "/x/.venv/bin/python3") == (
        f"/x/.venv/bin/python3 does not have muster.jax: /x/.venv/bin/python3 -m pip install '{pip_argument()}', "
        "or use the three lines of jax instead (docs/researcher.md)"
    )


@pytest.mark.parametrize(
    "line", ["ModuleNotFoundError: No module named 'mustard'", "I miss ModuleNotFoundError: No module named 'muster'"]
)
def test_other_lines_get_no_advice(line: str) -> None:
    assert hint([*TRACEBACK, line], "/x/.venv/bin/python3") == ""


def test_without_a_python_there_is_no_advice() -> None:
    assert hint(["ModuleNotFoundError: No module named 'muster'"], None) == ""
