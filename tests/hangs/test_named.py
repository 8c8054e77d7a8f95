"""Real jax processes: the rank that the others wait for is named with its place, however it came to a halt."""

from pathlib import Path

import pytest

from tests.hangs.gang import right, run

pytest.importorskip("jax")


@pytest.mark.cluster
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("how", "victim", "reports"), [("sleep", 1, False), ("stop", 2, False), ("lock", 1, True)])
async def test_the_rank_that_comes_to_a_halt_is_named(how: str, victim: int, reports: bool, tmp_path: Path) -> None:
    said = await run(tmp_path, how, victim, reports=reports, patience=300.0)
    assert right(how, victim, said), said
