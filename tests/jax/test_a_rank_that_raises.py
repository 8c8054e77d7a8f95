"""With ``muster.jax.initialize`` an exception in one rank ends that rank, where jax alone would wait for the others."""

from pathlib import Path

import pytest

from muster.api.values.termination_message import gist
from tests.jax.gang import gang

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]  # jax's own shutdown barrier lasts 300 s


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_raises_ends_with_its_traceback_as_its_last_words(tmp_path: Path, rank: int) -> None:
    pytest.importorskip("jax")
    with gang(tmp_path, raises=rank) as processes:
        assert processes[rank].wait() == 1
    assert gist((tmp_path / f"{rank}.log").read_text()[-2048:]) == "ValueError: loss is NaN"
