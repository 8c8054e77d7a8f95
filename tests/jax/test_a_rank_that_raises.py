"""With ``muster.jax.initialize`` a failure in one rank ends that rank, where jax alone would wait for the others."""

from pathlib import Path

import pytest

from muster.api.values.termination_message import words
from tests.jax.gang import gang

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]  # the barrier at the end of jax lasts an hour here
pytest.importorskip("jax")


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_raises_ends_with_its_traceback_as_its_last_words(tmp_path: Path, rank: int) -> None:
    with gang(tmp_path, fails=rank) as processes:
        assert processes[rank].wait() == 1
    assert words((tmp_path / f"{rank}.log").read_text()[-2048:]).text == "ValueError: loss is NaN"


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_exits_with_a_code_ends_with_it_before_the_others(tmp_path: Path, rank: int) -> None:
    with gang(tmp_path, fails=rank, failure="sys.exit(3)") as processes:
        assert processes[rank].wait() == 3
