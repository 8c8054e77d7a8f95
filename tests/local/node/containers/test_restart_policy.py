"""Restart policy and CrashLoopBackOff delays."""

from muster.local.node.containers.states import RestartDelays, restarts


def test_restarts_follow_the_restart_policy() -> None:
    assert [restarts(policy, code) for policy in ("Never", "OnFailure", "Always") for code in (0, 1)] == [
        False,
        False,
        False,
        True,
        True,
        True,
    ]


def test_restart_delays_double_from_ten_seconds_to_five_minutes_and_reset_after_a_long_run() -> None:
    delays = RestartDelays()
    assert [delays.after(1) for _ in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]
    assert [delays.after(601), delays.after(1)] == [0, 10]
