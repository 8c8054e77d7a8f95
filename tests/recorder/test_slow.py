"""Real PyTorch processes that all get on: the rank that is slower by 200 ms in each step is said to come last."""

from pathlib import Path

import pytest

from tests.frameworks.interpreters import CURRENT_TORCH, python_of, reason_without
from tests.recorder.slow import seen_of


@pytest.mark.cluster
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("frameworks")
@pytest.mark.skipif(python_of(CURRENT_TORCH) is None, reason=reason_without(CURRENT_TORCH))
async def test_the_rank_that_is_slower_by_200_ms_comes_last(tmp_path: Path) -> None:
    seen, said = await seen_of(tmp_path, 0.2, 1, patience=800.0)
    assert seen is not None
    assert seen.members == (1,), seen
    assert said.startswith("rank 1 comes last to the collectives of default_pg")
