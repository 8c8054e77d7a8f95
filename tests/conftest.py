"""For every test."""

import asyncio

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start clusters run one after the other, on one worker: side by side they would want the machine.

    So do all tests of the local cluster: agents of one machine share its cgroups, and each clears what it takes for its
    own.
    """
    for item in items:
        if item.get_closest_marker("cluster") or "local" in item.path.relative_to(item.config.rootpath).parts:
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="session", autouse=True)
def no_loop_of_nobody() -> None:
    """pytest-asyncio saves and restores the current loop, and to do so makes one that nobody closes.

    Warnings are errors here, and the warning about that loop would fail whichever test the collector runs in.
    """
    asyncio.set_event_loop(None)
