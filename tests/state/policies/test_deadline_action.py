"""A clock that has run out ends a watched run only where its own annotation asks for that."""

from typing import Any

import pytest

from muster.state.facts.context import Context
from muster.state.policies.deadline import end
from muster.state.vocabulary.actions import EndRun
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from muster.state.vocabulary.subject import PODS
from tests.builders import NOW, Clock, plan, pod, record, view

HOUR = 3600.0
RUNNING = pod(0)


def asked(
    on_deadline: str = "suspend",
    *,
    clock: ClockName = ClockName.TOTAL,
    action: ClockAction = ClockAction.FAIL,
    now: float = NOW + HOUR,
    phase: Phase = Phase.RUNNING,
    **changes: Any,
) -> tuple[EndRun, ...]:
    clocks = {clock: Clock(HOUR, action)}
    wanted = plan(engine=Engine.WATCH, clocks=clocks, on_deadline=on_deadline, **changes)
    return end(Context.at(wanted, record(phase=phase, started_at=NOW, ending_at=NOW), view(RUNNING), now))


@pytest.mark.parametrize("way", ["suspend", "delete"])
def test_a_run_is_ended_in_the_way_that_its_annotation_names(way: str) -> None:
    (end,) = asked(way)
    assert (end.how, end.reason, end.pods) == (way, "DeadlineExceeded", ())
    assert end.message.endswith(f"the annotation muster.dev/on-deadline asks to {way} it")


def test_the_pods_of_a_run_without_an_object_are_ended_themselves() -> None:
    (end,) = asked("delete", subject=PODS)
    assert end.pods == (RUNNING,)


@pytest.mark.parametrize(
    "changes",
    [
        {"now": NOW + HOUR - 1},
        {"on_deadline": ""},
        {"action": ClockAction.ALERT},
        {"deleting": True},
        {"phase": Phase.SUSPENDED},
        {"phase": Phase.SUCCEEDED},
        {"phase": Phase.FAILED},
    ],
    ids=["in time", "not asked for", "alert only", "being deleted", "suspended", "succeeded", "failed"],
)
@pytest.mark.parametrize("clock", [ClockName.TOTAL, ClockName.TERMINATING])
def test_nothing_else_is_ended(clock: ClockName, changes: dict[str, Any]) -> None:
    assert asked(clock=clock)
    assert asked(clock=clock, **changes) == ()
