"""The file that is mounted has the numbers of the daemon, and names the ranks of a group in few characters."""

import pytest

from muster.api import collectives as agreed
from muster.assist.mounted import torch_recorder


def test_the_mounted_file_has_the_numbers_of_the_daemon() -> None:
    names = [name for name in dir(agreed) if name.isupper() and hasattr(torch_recorder, name)]
    assert len(names) >= 10
    assert [name for name in names if getattr(torch_recorder, name) != getattr(agreed, name)] == []


@pytest.mark.parametrize(
    ("ranks", "text"), [([0, 1, 2, 3, 8], "0-3,8"), ([5], "5"), (list(range(0, 4000, 8)), "#6e62bcc9")]
)
def test_ranks_of_a_group_are_short(ranks: list[int], text: str) -> None:
    said = torch_recorder.ranges(ranks)
    assert said == text or (text.startswith("#") and said.startswith("#") and len(said) == 9)
