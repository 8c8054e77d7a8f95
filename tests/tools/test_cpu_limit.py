"""A test that uses more CPU time than it may fails, also if the failure is raised where somebody else keeps it."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from tests.conftest import pytest_runtest_call


def test_a_failure_that_a_task_keeps_fails_the_test_at_its_end() -> None:
    limit = SimpleNamespace(args=(0.05,))
    markers = {"cpu": limit}
    call = pytest_runtest_call(cast("pytest.Item", SimpleNamespace(get_closest_marker=markers.get)))
    next(call)

    async def computes_until_it_fails() -> None:
        while True:
            pass

    async def keeps() -> BaseException | None:
        task = asyncio.create_task(computes_until_it_fails())
        await asyncio.wait([task])
        return task.exception()

    assert isinstance(asyncio.run(keeps()), pytest.fail.Exception)
    with pytest.raises(pytest.fail.Exception, match=r"more than 0.05 s of CPU time"):
        next(call)
