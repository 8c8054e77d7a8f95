"""Runs whose pods another controller owns are watched: everything is decided, and nothing is asked for."""

import pytest

from muster.state.decide.machine import decide
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Phase, Record
from tests.builders import NOW, plan, pod, record, view


@pytest.mark.parametrize(
    ("deleting", "kept"),
    [(False, None), (False, record(phase=Phase.FAILED, finished_at=NOW)), (True, record(phase=Phase.RUNNING))],
    ids=["at its start", "at its end", "while it is deleted"],
)
def test_nothing_is_done_to_the_pods_of_a_watched_run(deleting: bool, kept: Record | None) -> None:
    seen = view(pod(0)) if kept else view()
    assert decide(plan(deleting=deleting), kept, seen, NOW).actions
    watched = decide(plan(deleting=deleting, engine=Engine.WATCH), kept, seen, NOW)
    assert (watched.actions, watched.write) == ((), True)


def test_a_watched_coordinator_is_probed() -> None:
    run = plan(engine=Engine.WATCH)
    assert decide(run, record(phase=Phase.ASSEMBLING), view(pod(0)), NOW).probe is not None
