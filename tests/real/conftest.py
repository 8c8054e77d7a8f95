"""Fixtures of the real control plane, and the verdict of each row."""

import os
import re
from collections.abc import AsyncIterator, Generator, Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from tests.outcomes.outcome import why
from tests.real.ground import VARIABLE, Ground
from tests.real.rows import FAILED, OK, Row, save
from tests.real.site import Site, site

collect_ignore_glob = [] if os.environ.get(VARIABLE) else ["*"]
"""Collected only on the ground that `make real` makes."""


def pytest_configure(config: pytest.Config) -> None:
    """The marks of these tests only."""
    config.addinivalue_line("markers", "alone: stops or starves what other situations need, so it runs by itself")
    config.addinivalue_line("markers", "core: what CI plays at each change; see core.py")
    config.addinivalue_line("markers", "labels(mapping): labels of the test's namespace")


if os.environ.get("KUBECONFIG"):

    @pytest.fixture(scope="session", autouse=True)
    def connections_are_watched() -> None:
        """Watch none: the cluster that a person gives may be anywhere."""


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    made = Row()
    request.node.stash[ROW] = made
    return made


@pytest.fixture
def our_servers(row: Row) -> None:
    """The control plane is ours to stop. Asks for the row, which then shows that it was skipped, and why."""
    if not Ground.read().own:
        pytest.skip("the cluster of KUBECONFIG is not stopped")


@pytest.fixture
async def here(request: pytest.FixtureRequest, row: Row) -> AsyncIterator[Site]:
    """A site in a namespace named after the test; the mark `labels` labels it."""
    ground, name = Ground.read(), namespace_of(request.node)
    async with site(
        ground, name, labels_of(request.node), lambda client, screen: Site(ground, client, screen, name, row)
    ) as made:
        yield made


ROW = pytest.StashKey[Row]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    row = item.stash.get(ROW, None)
    if row is not None and report.outcome == "skipped":
        row.said = why(report)
    if row is not None and (report.when == "call" or report.outcome != "passed"):
        failure = why(report) if report.outcome == "failed" else ""
        save(Path(Ground.read().rows), row, verdict(report), item.nodeid, failure)
    return report


def verdict(report: pytest.TestReport) -> str:
    """`ok`, `FAILED`, or `skipped`."""
    return {"passed": OK, "failed": FAILED}.get(report.outcome, report.outcome)


def labels_of(item: pytest.Item) -> Mapping[str, str]:
    """Those that the test's mark `labels` asks for its namespace."""
    mark = item.get_closest_marker("labels")
    return mark.args[0] if mark else {}


def namespace_of(item: pytest.Item) -> str:
    """A name of its own for each test, and for a test that is played again."""
    words = re.sub(r"[^a-z0-9]+", "-", item.name.removeprefix("test_").lower())
    return f"{words[:24].strip('-')}-{sha256(f'{item.nodeid} {os.getpid()}'.encode()).hexdigest()[:4]}"
