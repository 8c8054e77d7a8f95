"""For every test."""

import asyncio

import pytest


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start clusters run one after the other, on one worker: side by side they would want the machine."""
    for item in items:
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="session", autouse=True)
def no_loop_of_nobody() -> None:
    """pytest-asyncio saves and restores the current loop, and to do so makes one that nobody closes.

    Warnings are errors here, and the warning about that loop would fail whichever test the collector runs in.
    """
    asyncio.set_event_loop(None)
