"""How long an experiment has run, and how much of that was productive."""

import pytest

from muster.state.vocabulary import wall_time
from muster.state.vocabulary.record import Phase, from_status, to_status
from muster.state.vocabulary.transitions import enter, spent
from tests.builders import NOW, edited, plan, record
from tests.state.story import Story

MILLISECOND = 0.001


def about(wall: float, productive: float) -> object:
    """The sums are rounded up at each change of phase."""
    return pytest.approx((wall, productive), abs=10 * MILLISECOND)


def restarting() -> Story:
    """A gang that assembled in 2 s, ran for 100 s, and has failed."""
    story = Story(plan())
    story.assemble()
    story.now += 100
    story.end(1, 1)
    for action in story.look():
        story.do(action)
    assert story.kept.phase is Phase.RESTARTING
    return story


def test_only_the_time_of_an_assembled_gang_is_productive() -> None:
    story = restarting()
    assert spent(story.kept, story.now) == about(102, 100)
    assert spent(story.kept, story.now + 5) == about(107, 100)
    story.look(5)
    story.assemble()
    assert spent(story.kept, story.now + 50) == about(159, 150)


@pytest.mark.parametrize(("code", "productive"), [(0, 3), (1, 0)])
def test_a_gang_that_succeeds_before_its_roll_is_seen_complete_was_productive_since_its_first_process(
    code: int, productive: float
) -> None:
    """A program of a second is over before its coordinator is asked. Of one that failed nothing is known."""
    story = Story(plan(size=2, limit=0))
    story.launch()
    story.start()
    story.look(2)
    assert story.kept.phase is Phase.ASSEMBLING
    story.now += 3
    for rank in range(2):
        story.end(rank, code)
    story.look()
    assert story.kept.finished
    assert spent(story.kept, story.now + 50)[1] == pytest.approx(productive, abs=10 * MILLISECOND)


def test_suspended_time_is_not_counted() -> None:
    story = restarting()
    story.plan = edited(story.plan, suspend=True)
    story.look()
    assert spent(story.kept, story.now + 1000) == about(102, 100)
    story.plan = edited(story.plan, suspend=False)
    story.look(1000)
    assert story.kept.phase is Phase.PENDING
    assert spent(story.kept, story.now + 7) == about(109, 100)


def test_nothing_is_added_after_the_end() -> None:
    story = restarting()
    story.plan = edited(story.plan, cancel=True)
    story.look(3)
    assert story.kept.phase is Phase.FAILED
    assert spent(story.kept, story.now + 1000) == about(105, 100)


def test_the_sums_survive_the_daemon() -> None:
    story = restarting()
    reread = from_status(to_status(story.kept))
    assert reread is not None
    assert spent(reread, story.now + 5) == pytest.approx(spent(story.kept, story.now + 5), abs=1e-6)


def test_a_status_of_an_older_muster_counts_from_its_phase_on() -> None:
    status = to_status(record(phase=Phase.RUNNING, phase_at=NOW))
    del status["wallMilliseconds"], status["productiveMilliseconds"]
    old = from_status(status)
    assert old is not None
    assert spent(old, NOW + 5) == (5, 5)


def test_time_costs_no_write_between_changes_of_phase() -> None:
    story = Story(plan())
    story.assemble()
    writes = story.writes
    for _ in range(100):
        story.look(60)
    assert story.writes == writes
    assert spent(story.kept, story.now) == about(6002, 6000)


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_a_step_of_the_wall_clock_is_not_counted(step: float) -> None:
    story = Story(plan())
    story.assemble()
    before = spent(story.kept, story.now)
    assert spent(wall_time.moved(story.kept, step), story.now + step) == before


def test_time_never_runs_backwards() -> None:
    now = record(phase=Phase.RUNNING, phase_at=NOW, wall_ms=5000)
    assert spent(now, NOW - 100) == (5, 0)
    at = NOW + 1 / 3
    assert spent(enter(now, Phase.RESTARTING, at), at) >= spent(now, at), "a counter that falls is taken for a new one"


def test_a_gang_is_broken_from_its_first_failure_until_it_is_assembled() -> None:
    story = restarting()
    broken_at = story.kept.broken_at
    assert broken_at == story.now
    story.look(5)
    story.launch()
    story.start()
    story.look(1)
    story.end(2, 1)
    for action in story.look():
        story.do(action)
    assert (story.kept.restarts, story.kept.broken_at) == (2, broken_at)
    story.look(10)
    story.assemble()
    assert story.kept.broken_at is None


def test_a_suspended_gang_is_not_broken() -> None:
    story = restarting()
    story.plan = edited(story.plan, suspend=True)
    story.look()
    assert story.kept.broken_at is None
