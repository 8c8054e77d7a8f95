"""Suspension and cancellation follow the spec's wish."""

import pytest

from muster.state.context import Context, Fail, Resume, Suspend
from muster.state.policies import suspension
from muster.state.record import Phase
from tests.builders import NOW, plan, record, view

CANCELLED = Fail("Cancelled", "cancelled by spec.cancel")


@pytest.mark.parametrize(
    ("cancel", "suspend", "phase", "verdict"),
    [
        (False, False, Phase.RUNNING, None),
        (False, True, Phase.RUNNING, Suspend()),
        (False, True, Phase.SUSPENDED, None),
        (False, False, Phase.SUSPENDED, Resume()),
        (True, False, Phase.RUNNING, CANCELLED),
        (True, True, Phase.RUNNING, CANCELLED),
        (True, True, Phase.SUSPENDED, CANCELLED),
    ],
)
def test_the_wish_is_followed(cancel: bool, suspend: bool, phase: Phase, verdict: object) -> None:
    case = Context(plan(cancel=cancel, suspend=suspend), record(phase=phase), view(), NOW)
    assert suspension.judge(case) == verdict
