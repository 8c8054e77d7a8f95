"""Real PyTorch processes that report nothing: the rank that the others wait for is named, however it came to a halt."""

from pathlib import Path

import pytest

from muster.api import collectives as agreed
from muster.assist.mounted import torch_recorder
from tests.frameworks.interpreters import CURRENT_TORCH, python_of, reason_without
from tests.recorder.gang import SAYS, right, run


@pytest.mark.cluster
@pytest.mark.timeout(400)
@pytest.mark.xdist_group("frameworks")
@pytest.mark.skipif(python_of(CURRENT_TORCH) is None, reason=reason_without(CURRENT_TORCH))
@pytest.mark.parametrize(("how", "victim"), list(zip(sorted(SAYS), (0, 1, 2, 1), strict=True)))
async def test_the_rank_that_comes_to_a_halt_is_named(how: str, victim: int, tmp_path: Path) -> None:
    said = await run(tmp_path, how, victim)
    assert right("torch", how, victim, said), said


@pytest.mark.cluster
@pytest.mark.timeout(400)
@pytest.mark.xdist_group("frameworks")
@pytest.mark.skipif(python_of("transformers") is None, reason=reason_without("transformers"))
async def test_the_rank_whose_data_end_to_come_to_a_trainer_is_named(tmp_path: Path) -> None:
    """A gang of HuggingFace's Trainer, whose callback says nothing of a rank."""
    said = await run(tmp_path, "sleep", 1, program="huggingface")
    assert right("huggingface", "sleep", 1, said), said


def test_the_mounted_file_has_the_numbers_of_the_daemon() -> None:
    for name in (
        "KEYS",
        "MAX_VALUE",
        "MAX_GROUPS",
        "MAX_PROCESSES",
        "MAX_RANKS",
        "MAX_SHARES",
        "TOGETHER",
        "FASTEST",
        "SLOWEST",
        "VALUES_PER_SECOND",
    ):
        assert getattr(torch_recorder, name) == getattr(agreed, name)


@pytest.mark.parametrize(
    ("ranks", "text"), [([0, 1, 2, 3, 8], "0-3,8"), ([5], "5"), (list(range(0, 4000, 8)), "#6e62bcc9")]
)
def test_ranks_of_a_group_are_short(ranks: list[int], text: str) -> None:
    said = torch_recorder.ranges(ranks)
    assert said == text or (text.startswith("#") and said.startswith("#") and len(said) == 9)
