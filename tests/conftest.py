"""For every test."""

import asyncio
import os

import hypothesis
import pytest

# Hypothesis fails a test whose example takes longer than 200 ms, which on a busy machine any of them may.
hypothesis.settings.register_profile("no-deadline", deadline=None)
hypothesis.settings.load_profile("no-deadline")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: whoever starts clusters waits for most of the time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start clusters run one after the other, on two workers: more at once would want the machine."""
    for item in items:
        if item.get_closest_marker("cluster"):
            daemonless = item.nodeid.startswith(("tests/local/", "tests/watchers/"))
            item.add_marker(pytest.mark.xdist_group("clusters alone" if daemonless else "clusters with daemons"))


@pytest.fixture(scope="session", autouse=True)
def no_loop_of_nobody() -> None:
    """pytest-asyncio saves and restores the current loop, and to do so makes one that nobody closes.

    Warnings are errors here, and the warning about that loop would fail whichever test the collector runs in.
    """
    asyncio.set_event_loop(None)
