"""Runs whose pods another controller owns are watched: everything is decided, and nothing is asked for."""

from muster.state.decide.machine import decide
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, plan, pod, record, view


def test_a_watched_run_has_no_actions_at_its_start() -> None:
    assert decide(plan(engine=Engine.NATIVE), None, view(), NOW).actions
    decision = decide(plan(engine=Engine.WATCH), None, view(), NOW)
    assert (decision.actions, decision.write) == ((), True)


def test_a_watched_run_that_has_ended_keeps_its_pods() -> None:
    over = record(phase=Phase.FAILED, finished_at=NOW)
    assert decide(plan(), over, view(pod(0)), NOW).actions
    assert decide(plan(engine=Engine.WATCH), over, view(pod(0)), NOW).actions == ()


def test_a_watched_run_that_is_being_deleted_keeps_its_pods() -> None:
    going = record(phase=Phase.RUNNING)
    assert decide(plan(deleting=True), going, view(pod(0)), NOW).actions
    assert decide(plan(deleting=True, engine=Engine.WATCH), going, view(pod(0)), NOW).actions == ()


def test_a_watched_coordinator_is_probed() -> None:
    run = plan(engine=Engine.WATCH)
    assert decide(run, record(phase=Phase.ASSEMBLING), view(pod(0)), NOW).probe is not None
