"""For every test."""

import asyncio

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_loop_of_nobody() -> None:
    """pytest-asyncio saves and restores the current loop, and to do so makes one that nobody closes.

    Warnings are errors here, and the warning about that loop would fail whichever test the collector runs in.
    """
    asyncio.set_event_loop(None)
