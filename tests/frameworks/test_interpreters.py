"""Where tests find the frameworks, and what they print where one is missing."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frameworks import interpreters
from tests.frameworks.__main__ import JUPYTER_LOCK, LOCK, TORCH_LOCK
from tests.frameworks.interpreters import python_of, reason_without


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Look anew before and after each test."""
    python_of.cache_clear()
    yield
    python_of.cache_clear()


def test_a_missing_framework_has_no_interpreter_and_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(interpreters.VARIABLE, str(tmp_path))
    monkeypatch.setattr(interpreters, "SYSTEM_PYTHON", tmp_path / "python3")
    for framework in ("ray", "torch", "xgboost"):
        assert python_of(framework) is None
        assert reason_without(framework) == f"no interpreter has {framework}: run `make frameworks`"
    for framework in (interpreters.CURRENT_TORCH, "transformers"):
        assert python_of(framework) is None
        assert reason_without(framework) == f"no interpreter has {framework}: run `make frameworks TORCH=1`"


@pytest.mark.parametrize("lock", [LOCK, JUPYTER_LOCK, TORCH_LOCK], ids=lambda lock: lock.name)
def test_the_lock_has_the_versions_that_are_asked_for_with_hashes(lock: Path) -> None:
    locked = lock.read_text(encoding="utf-8")
    for line in lock.with_suffix(".in").read_text(encoding="utf-8").split():
        pin = re.sub(r"\[.*\]", "", line)
        assert re.search(rf"^{re.escape(pin)} \\\n +--hash=sha256:", locked, re.MULTILINE), pin
