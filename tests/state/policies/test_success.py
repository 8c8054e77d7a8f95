"""Success: every member has ended well."""

import pytest

from muster.state.context import Context, Succeed
from muster.state.pod import PodPhase
from muster.state.policies import success
from tests.builders import NOW, plan, pod, record, view


@pytest.mark.parametrize(
    ("size", "ended", "message"),
    [
        (0, 0, "no members were asked for"),
        (1, 1, "the member succeeded"),
        (2, 2, "all 2 members succeeded"),
        (4, 4, "all 4 members succeeded"),
        (4, 3, None),
        (1, 0, None),
    ],
)
def test_all_must_have_ended_well(size: int, ended: int, message: str | None) -> None:
    pods = [pod(rank, phase=PodPhase.SUCCEEDED if rank < ended else PodPhase.RUNNING) for rank in range(size)]
    verdict = success.judge(Context(plan(size=size), record(), view(*pods), NOW))
    assert verdict == (Succeed(message) if message else None)


def test_members_of_another_epoch_do_not_count() -> None:
    pods = [pod(rank, epoch=0, phase=PodPhase.SUCCEEDED) for rank in range(4)]
    assert success.judge(Context(plan(), record(epoch=1), view(*pods), NOW)) is None
