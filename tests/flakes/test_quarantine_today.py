"""The quarantine of the repository, today."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.flakes.quarantine import load, overdue

pytestmark = pytest.mark.drift


def test_no_entry_is_older_than_it_may_be() -> None:
    assert overdue(load(), datetime.fromtimestamp(time.time(), UTC).date()) == []


def test_every_entry_names_a_test_that_exists() -> None:
    root = Path(__file__).parents[2]
    for each in load():
        file, _, name = each.id.partition("::")
        assert f"def {name.partition('[')[0].rpartition('::')[2] or name}" in (root / file).read_text(encoding="utf-8")
