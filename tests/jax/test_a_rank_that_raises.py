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
@pytest.mark.parametrize("failure", ["sys.exit(3)", "raise SystemExit(3)"])
def test_a_rank_that_exits_with_a_code_ends_with_it_before_the_others(tmp_path: Path, rank: int, failure: str) -> None:
    with gang(tmp_path, fails=rank, failure=failure) as processes:
        assert processes[rank].wait() == 3


def test_words_in_the_place_of_a_code_are_printed_and_the_code_is_1(tmp_path: Path) -> None:
    with gang(tmp_path, fails=1, failure="sys.exit('no data')") as processes:
        assert processes[1].wait() == 1
    assert "no data\n" in (tmp_path / "1.log").read_text()
