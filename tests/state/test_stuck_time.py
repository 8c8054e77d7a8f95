"""Time in which a run is Stuck is not productive."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary import wall_time
from muster.state.vocabulary.record import Phase, Record, from_status, to_status
from muster.state.vocabulary.transitions import enter, spent, stuck_turned
from tests.builders import NOW, plan, record
from tests.state.story import Story

RUNNING = record(phase=Phase.RUNNING, phase_at=NOW)


def about(seconds: float) -> tuple[float, float]:
    return seconds - 0.01, seconds + 0.01


def stuck(story: Story) -> None:
    story.view.engine.refuse(Refusal("QuotaExceeded", "no quota", final=False), "CreatePods", story.now, story.now)


def test_the_productive_sum_rests_while_the_gang_is_stuck_and_costs_no_write() -> None:
    story = Story(plan())
    story.assemble()
    story.look(100)
    before = spent(story.kept, story.now)[1]
    stuck(story)
    story.look()
    writes = story.writes
    assert story.kept.stuck_at == story.now
    for _ in range(80):
        story.look(1)
    low, high = about(before)
    assert low <= spent(story.kept, story.now)[1] <= high
    assert spent(story.kept, story.now)[0] >= 180
    assert story.writes == writes
    story.view.engine.accept()
    story.view.engine.answered = True
    story.look()
    assert (story.kept.stuck_at, story.writes) == (None, writes + 1)
    low, high = about(before + 50)
    assert low <= spent(story.kept, story.now + 50)[1] <= high


def test_a_gang_that_ends_while_it_is_stuck_keeps_what_was_productive() -> None:
    now = stuck_turned(RUNNING, NOW + 10, stuck=True)
    ended = enter(now, Phase.RESTARTING, NOW + 90)
    assert (ended.productive_ms, ended.wall_ms) == (10_000, 90_000)
    assert (ended.stuck_at, ended.stuck_ms) == (None, None)


def test_in_other_phases_nothing_is_productive_and_stuck_is_not_summed() -> None:
    pending = record(phase=Phase.PENDING, phase_at=NOW)
    assert stuck_turned(pending, NOW + 1, stuck=True) is pending


def test_a_step_of_the_wall_clock_moves_the_beginning() -> None:
    now = stuck_turned(RUNNING, NOW + 10, stuck=True)
    assert spent(wall_time.moved(now, 3600), NOW + 3640) == spent(now, NOW + 40)


TURNS = st.lists(st.tuples(st.sampled_from(["stuck", "free", "restart", "daemon", "wait"]), st.floats(0, 500)))


@settings(max_examples=200)
@given(TURNS)
def test_the_sums_never_fall_never_grow_while_stuck_and_survive_daemons(turns: list[tuple[str, float]]) -> None:
    kept: Record = RUNNING
    now, shown = NOW, (0.0, 0.0)
    for what, seconds in turns:
        held = kept.phase is Phase.RUNNING and kept.stuck_at is not None
        now += seconds
        wall, productive = spent(kept, now)
        assert wall >= shown[0] - 1e-5
        assert productive >= shown[1] - 1e-5
        assert productive <= wall + 0.002 * len(turns)
        if held:
            assert productive <= shown[1] + 0.002
        shown = wall, productive
        match what:
            case "stuck" | "free":
                kept = stuck_turned(kept, now, stuck=what == "stuck")
            case "restart" if kept.phase is Phase.RUNNING:
                kept = enter(kept, Phase.RESTARTING, now)
            case "restart":
                kept = replace(kept, phase=Phase.RUNNING, phase_at=now, wall_ms=kept.wall_ms + int(1000 * seconds))
                shown = spent(kept, now)
            case "daemon":
                read = from_status(to_status(kept))
                assert read is not None
                kept = read
