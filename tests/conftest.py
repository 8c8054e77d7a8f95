"""For every test: its limits, and the order of all.

A test without real processes has a limit of CPU time: a busy machine makes it slow, but not hungry. A test with real
processes waits for them, so its limit is wall time (``timeout``, of pytest-timeout), which is the net of all others.
"""

import asyncio
import faulthandler
import os
import signal
from collections.abc import Iterator
from types import FrameType

import hypothesis
import pytest

from tests.departures import connections_are_watched, no_connection_leaves_the_machine  # noqa: F401 - for every test

# On a busy machine any example may take longer than 200 ms, and so may drawing it.
hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("change", hypothesis.settings.get_profile("busy"), max_examples=20)
hypothesis.settings.register_profile("night", hypothesis.settings.get_profile("busy"), max_examples=500)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "change"))  # or --hypothesis-profile

GRACE = 60.0
"""Seconds after the limit of a test at which its process ends whatever it does; at the end of a session, after the
longest of them."""

CPU_SECONDS = 60.0
"""CPU time that a test without real processes may use; ``@pytest.mark.cpu(seconds)`` is another limit."""

WITH_PROCESSES = ("cluster", "smoke")
"""Marks of the tests with real processes."""

_stderr = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the real stderr: capturing replaces it."""
    config.stash[_stderr] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process of a test that outlives its limit: pytest-xdist then names the test, and goes on with the others.

    At the limit pytest-timeout raises an exception, once. Where that happens in a callback or a background task of a
    loop, the loop takes it for an error of that task, and the test waits on.
    """
    faulthandler.dump_traceback_later(_limit(item) + GRACE, exit=True, file=item.config.stash[_stderr])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that computes longer than it may: each further second, and at its end, if a task kept the failure."""
    if any(item.get_closest_marker(each) for each in WITH_PROCESSES):
        return (yield)
    marker = item.get_closest_marker("cpu")
    seconds = float(marker.args[0]) if marker else CPU_SECONDS

    over = False

    def exceeded(number: int, frame: FrameType | None) -> None:
        nonlocal over
        over = True
        pytest.fail(f"the test used more than {seconds:g} s of CPU time")

    former = signal.signal(signal.SIGPROF, exceeded)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        result = yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, former)
    if over:
        exceeded(signal.SIGPROF, None)
    return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End a worker whose threads or exit handlers do not end. It may first wait for the last test of another worker."""
    if hasattr(session.config, "workerinput"):
        longest = max(map(_limit, session.items), default=0.0)
        faulthandler.dump_traceback_later(longest + GRACE, exit=True, file=session.config.stash[_stderr])


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are processors: tests that start clusters wait for most of the time."""
    return (os.cpu_count() or 1) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with real processes come first, those with the longest limit before the others: they take the longest, and
    those that compute fill the time at the end."""
    items.sort(key=lambda item: (not any(item.get_closest_marker(each) for each in WITH_PROCESSES), -_limit(item)))


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long text is called by its beginning and its length."""
    return f"{ascii(val)[:40]}-{len(val)}" if isinstance(val, str | bytes) and len(val) > 60 else None


def _limit(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0] if marker else item.config.getini("timeout"))


@pytest.fixture(scope="session", autouse=True)
def no_loop_of_nobody() -> None:
    """pytest-asyncio saves and restores the current loop, and to do so makes one that nobody closes.

    Warnings are errors here, and the warning about that loop would fail whichever test the collector runs in.
    """
    asyncio.set_event_loop(None)
