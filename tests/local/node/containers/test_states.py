"""Container states, restart policy and CrashLoopBackOff delays."""

import pytest

from muster.local.node.containers.states import RestartDelays, exit_of, restarts


@pytest.mark.parametrize(("status", "expected"), [(0, (0, 0)), (3 << 8, (3, 0)), (9, (137, 9)), (15, (143, 15))])
def test_the_exit_code_of_signal_n_is_128_plus_n(status: int, expected: tuple[int, int]) -> None:
    assert exit_of(status) == expected


@pytest.mark.parametrize(("policy", "codes"), [("Never", []), ("OnFailure", [1]), ("Always", [0, 1])])
def test_restarts_follow_the_restart_policy(policy: str, codes: list[int]) -> None:
    assert [code for code in (0, 1) if restarts(policy, code)] == codes


def test_restart_delays_double_from_ten_seconds_to_five_minutes_and_reset_after_a_long_run() -> None:
    delays = RestartDelays()
    assert [delays.after(1) for _ in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]
    assert [delays.after(601), delays.after(1)] == [0, 10]
