"""Container states."""

import pytest

from muster.local.node.containers.states import exit_of


@pytest.mark.parametrize(("status", "expected"), [(0, (0, 0)), (3 << 8, (3, 0)), (9, (137, 9)), (15, (143, 15))])
def test_the_exit_code_of_signal_n_is_128_plus_n(status: int, expected: tuple[int, int]) -> None:
    assert exit_of(status) == expected
