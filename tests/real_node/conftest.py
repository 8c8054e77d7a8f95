"""Fixtures of the real nodes; rows and verdicts are those of `make real`."""

import os
from collections.abc import AsyncIterator, Generator

import pytest

from tests.real import conftest as real
from tests.real.ground import Ground
from tests.real.rows import Row
from tests.real.site import site
from tests.real_node.ground import NODES_VARIABLE, Nodes
from tests.real_node.site import Site

collect_ignore_glob = [] if os.environ.get(NODES_VARIABLE) else ["*"]
"""Collected only on the ground that `make real-node` makes."""


def pytest_configure(config: pytest.Config) -> None:
    """The marks of these tests only."""
    real.pytest_configure(config)


@pytest.fixture(scope="session", autouse=True)
def connections_are_watched() -> None:
    """Watch none: a run is in a network namespace of its own, from which nothing leaves the machine."""


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    made = Row()
    request.node.stash[real.ROW] = made
    return made


@pytest.fixture
async def here(request: pytest.FixtureRequest, row: Row) -> AsyncIterator[Site]:
    """A site in a namespace named after the test; the mark `labels` labels it."""
    ground, nodes, name = Ground.read(), Nodes.read(), real.namespace_of(request.node)
    labels = real.labels_of(request.node)
    async with site(
        ground, name, labels, lambda client, screen: Site(ground, nodes, client, screen, name, row)
    ) as made:
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return (yield from real.pytest_runtest_makereport(item))
