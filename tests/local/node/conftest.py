"""Fixtures of the tests of the node agent."""

from pathlib import Path

import pytest

from tests.local.node.harness import ClusterOf, FakeApi, running_cluster


@pytest.fixture
def fake_api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def cluster_of(tmp_path: Path) -> ClusterOf:
    """`async with cluster_of(isolation) as cluster:`; skips the test if the machine does not permit the isolation."""
    return lambda isolation, **options: running_cluster(isolation, tmp_path / "state", **options)
