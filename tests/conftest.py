"""For every test."""

import asyncio
import os

import hypothesis
import pytest

# Hypothesis fails a test whose example takes longer than 200 ms, which on a busy machine any of them may.
hypothesis.settings.register_profile("no-deadline", deadline=None)
hypothesis.settings.load_profile("no-deadline")


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are processors: tests that start clusters wait for most of the time."""
    return (os.cpu_count() or 1) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start clusters come first: they take the longest, and those that compute fill the time at the end."""
    items.sort(key=lambda item: item.get_closest_marker("cluster") is None)


@pytest.fixture(scope="session", autouse=True)
def no_loop_of_nobody() -> None:
    """pytest-asyncio saves and restores the current loop, and to do so makes one that nobody closes.

    Warnings are errors here, and the warning about that loop would fail whichever test the collector runs in.
    """
    asyncio.set_event_loop(None)
