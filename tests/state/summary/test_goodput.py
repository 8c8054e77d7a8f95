"""Where the time went: each bucket by a story, and over any story the sum of all is the wall time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.goodput import BADPUT, Bucket, Goodput, StepTime, step_time
from muster.api.progress import MAX_STEP
from muster.state.view.engine_facts import Refusal
from muster.state.view.lead import Spent
from muster.state.view.progress import StepReport
from muster.state.vocabulary import wall_time
from muster.state.vocabulary.pod import Exit
from muster.state.vocabulary.record import ConditionType, Phase, from_status, to_status
from tests.builders import NOW, edited, plan, record, sure
from tests.state.facts.hanging import AskedStory
from tests.state.story import Story

LOOK = 3.0


class Timed(AskedStory):
    """A gang whose programs make a step a second, and say where their time went."""

    def __init__(self, **overrides: Any) -> None:
        super().__init__(plan(**overrides))
        self.clock = 500.0
        """The clock of the programs."""
        self.step = 0
        self.at = 0.0
        self.spent = Spent()
        self.longest = 1.0
        self.pausing = 0.0

    @property
    def sums(self) -> Goodput:
        """As of now."""
        return sure(self.kept.goodput).at(self.now)

    def seconds(self, *buckets: Bucket) -> tuple[float, ...]:
        return tuple(round(self.sums.of(each) / 1000, 2) for each in buckets)

    def begin(self, step: int, startup: float = 0.0) -> None:
        """The programs come to their first step after so many seconds."""
        self.passes(startup)
        self.step, self.at = step, self.clock
        self.spent = Spent(first=step, begun=self.clock)

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.clock += seconds

    def run(self, seconds: float) -> None:
        """Steps of a second each, with a look every three."""
        for _ in range(round(seconds)):
            self.passes(1.0)
            self.step, self.at = self.step + 1, self.clock
            if self.step % 3 == 0:
                self.see()

    def pause(self, seconds: float, kind: str) -> None:
        self.passes(seconds)
        paused = self.spent.paused + seconds
        saved = self.spent.saved + (seconds if kind == "checkpoint_save" else 0.0)
        restored = self.spent.restored + (seconds if kind == "checkpoint_restore" else 0.0)
        loaded = self.spent.loaded + (seconds if kind == "data_loading" else 0.0)
        self.spent = self.spent._replace(saved=saved, restored=restored, loaded=loaded, paused=paused)

    def stand(self, seconds: float) -> None:
        """Looks, and no report, for so long."""
        for _ in range(round(seconds / LOOK)):
            self.passes(LOOK)
            self.see()

    def hang(self, seconds: float = 69.0) -> None:
        """Nothing is reported for so long, which is seen."""
        self.stand(seconds)
        assert self.condition(ConditionType.STUCK) == (True, "Hung")

    def see(self, *ranks: int) -> None:
        """The probe reads the reports, of these ranks or of all."""
        self.hear(
            reports=tuple(
                StepReport(rank, self.step, self.step + 1, self.at, self.longest, (), self.pausing, self.spent)
                for rank in ranks or range(4)
            )
        )

    def fail(self) -> None:
        """Rank 1 ends now, and a decision follows at once."""
        self.end(1, 1)
        self.obey()
        assert self.kept.phase is Phase.RESTARTING

    @property
    def resumptions(self) -> list[str]:
        """The line of the story about each restart after which steps were made."""
        return [line.message for line in self.kept.story if line.reason == "StepsResumed"]

    def resume(self, step: int, startup: float = 0.0) -> None:
        """After a failure the gang comes together, and its programs to that step."""
        self.assemble_again()
        self.begin(step, startup)
        self.see()
        self.run(3)
        self.look(60)

    def assemble_again(self) -> None:
        """From a failure to Running: the back-off, and a second."""
        if self.kept.resume_at is not None:
            self.passes(max(0.0, self.kept.resume_at - self.now))
            self.look()
        self.launch()
        self.start()
        self.look()
        self.observe_probe(*range(4), passed=True)
        self.look(1)
        self.clock += 1
        assert self.kept.phase is Phase.RUNNING, self.kept.message


def working(steps: float, startup: float = 0.0, **overrides: Any) -> Timed:
    """A gang that has come to step 0 after that startup, and has made so many steps since."""
    story = Timed(**overrides).assemble()
    story.begin(0, startup)
    story.run(steps)
    return story


def at_work(steps: int = 130) -> Timed:
    """A gang whose first step began after 8.5 s, and which a daemon has watched at work until now."""
    story = working(0, 8.5)
    story.see()
    story.run(steps)
    story.look()
    return story


def stuck(story: Story, why: str = "no quota") -> None:
    story.view.engine.refuse(Refusal("QuotaExceeded", why, final=False), "CreatePods", story.now, story.now)


def free(story: Story) -> None:
    story.view.engine.accept()
    story.view.engine.answered = True


def test_pauses_count_of_programs_that_were_at_work_a_moment_before_their_roll_was_seen() -> None:
    story = Timed(limit=100).assemble()
    story.step, story.at = 60, story.clock - 0.6
    story.spent = Spent(first=60, begun=story.at)
    story.pause(3.0, "checkpoint_restore")
    story.run(40)
    story.pause(1.5, "checkpoint_save")
    story.run(9)
    story.fail()
    assert story.seconds(Bucket.CHECKPOINT_RESTORE, Bucket.CHECKPOINT_SAVE) == (3.0, 1.5)


def test_the_way_to_a_complete_roll_is_scheduling_startup_and_assembly() -> None:
    story = Timed().launch()
    story.look(7)
    story.schedule()
    story.look()
    story.look(11)
    story.start()
    story.look()
    story.look(2)
    story.observe_probe(*range(4), passed=True)
    story.look()
    story.look(5)
    ways = Bucket.SCHEDULING, Bucket.STARTUP, Bucket.ASSEMBLY, Bucket.PRODUCTIVE
    assert story.seconds(*ways) == (7, 11, 2, 5)


def test_the_time_while_it_is_stuck_is_not_productive_and_time_costs_no_write() -> None:
    story = Timed().assemble()
    writes = story.writes
    for _ in range(20):
        story.look(5)
    assert story.writes == writes
    stuck(story)
    story.look()
    writes = story.writes
    for _ in range(80):
        story.look(1)
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.STUCK) == (100, 80)
    assert story.writes == writes
    free(story)
    story.look()
    story.look(50)
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.STUCK) == (150, 80)


def test_recovery_lasts_from_the_failure_until_the_roll_is_complete() -> None:
    story = Timed().assemble()
    story.look(100)
    story.fail()
    story.look(5)
    story.launch()
    story.look()
    story.start()
    story.look(4)
    story.observe_probe(*range(4), passed=True)
    story.look()
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.RECOVERY) == (100, 9)
    assert story.seconds(Bucket.LOST, Bucket.PROGRAM_STARTUP) == (0, 0), "without steps nothing is known of them"


def test_a_failure_that_is_seen_late_began_when_the_container_ended() -> None:
    story = Timed().assemble()
    story.now += 100
    story.end(1, 1, at=story.now - 30)
    story.obey()
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.RECOVERY) == (71, 29)
    assert story.sums.productive == 100_000


def test_the_time_while_it_is_suspended_or_over_is_not_counted() -> None:
    story = Timed().assemble()
    story.plan = edited(story.plan, suspend=True)
    story.look()
    before = story.sums
    story.now += 1000
    assert story.sums.wall == before.wall
    story.plan = edited(story.plan, suspend=False)
    story.look()
    story.now += 7
    assert story.sums.wall == before.wall + 7000
    story.plan = edited(story.plan, cancel=True)
    story.look(3)
    assert story.kept.phase is Phase.FAILED
    before = story.sums
    story.now += 1000
    assert story.sums == before


@pytest.mark.parametrize(
    ("code", "ended", "seen", "productive", "other"),
    [(0, 3, 3, 3, 0), (1, 3, 3, 0, 0), (0, 10, 60, 11, 49)],
    ids=["success", "failure", "success that is seen late"],
)
def test_a_gang_that_succeeds_before_its_roll_is_seen_complete_was_productive_from_its_first_process_to_its_end(
    code: int, ended: float, seen: float, productive: float, other: float
) -> None:
    """A program of a second is over before its coordinator is asked. Of one that failed nothing is known."""
    story = Timed(size=2, limit=0).launch()
    story.start()
    story.look(2)
    assert story.kept.phase is Phase.ASSEMBLING
    story.passes(seen)
    for rank in range(2):
        story.end(rank, code, at=story.now - seen + ended)
    story.look()
    assert story.kept.finished
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.OTHER) == (productive, other)


def test_a_status_of_an_older_muster_counts_from_its_phase_on() -> None:
    story = Timed().assemble()
    old = to_status(story.kept)
    del old["goodput"]
    story.record = from_status(old)
    story.look(50)
    story.fail()
    assert story.seconds(Bucket.PRODUCTIVE) == (50,)


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_a_step_of_the_wall_clock_is_not_counted(step: float) -> None:
    story = working(90, startup=10)
    before = story.sums
    story.record = wall_time.moved(story.kept, step)
    story.view.clock_stepped(step)
    story.now += step
    assert story.sums.wall == before.wall
    story.see()
    story.fail()
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.PROGRAM_STARTUP, Bucket.STUCK) == (90, 10, 0)


def test_what_a_restart_cost_is_counted_and_said_once_the_next_epoch_takes_a_step() -> None:
    story = working(75, startup=5)
    story.fail()
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.LOST) == (75, 0), "not known before the next epoch reports"
    began = story.now
    story.resume(60, startup=2)
    assert story.resumptions == [
        f"resumed at step 60: 15 steps (15 s) lost, {round(story.now - 63 - began)} s to recover"
    ]
    assert story.seconds(Bucket.LOST, Bucket.PROGRAM_STARTUP) == (15, 7)


@pytest.mark.parametrize(
    ("unread", "step", "lost"),
    [
        (0.9, 60, "15 steps (16 s) lost"),
        (8.0, 60, "at least 15 steps (23 s) lost"),
        (0.0, 75, "no step lost"),
        (8.0, 75, "steps that were not read may be lost"),
    ],
)
def test_steps_that_nobody_has_read_are_lost_too(unread: float, step: int, lost: str) -> None:
    story = working(75)
    story.passes(unread)
    story.fail()
    story.resume(step)
    (words,) = story.resumptions
    assert words.startswith(f"resumed at step {step}: {lost}, ")


def test_a_run_that_starts_at_its_first_step_has_not_resumed() -> None:
    story = Timed().assemble()
    story.begin(40)
    story.run(9)
    story.look(60)
    assert story.resumptions == []


def restarted_inside(story: Timed, step: int, gap: float = 20.0, restarts: int = 1) -> None:
    """torchrun restarts the processes, which come to their first step after that gap."""
    story.begin(step, startup=gap)
    story.spent = story.spent._replace(restarts=restarts)
    story.see()


def restarted_by_the_kubelet(story: Timed, step: int, gap: float, ago: float) -> None:
    """The container of rank 0 has ended so many seconds ago, and after the gap its program comes to that step."""
    pod = story.pods[story.kept.epoch, 0]
    ended = Exit("main", 1, 0, "Error", "", story.now - ago, started_at=pod.started_at or story.now - 2 * ago)
    story.set(0, restarts=pod.restarts + 1, last_exit=ended, started_at=story.now)
    story.begin(step, startup=gap)
    story.see()


@pytest.mark.parametrize("look", [None, 30.0])
def test_a_restart_by_torchrun_inside_the_pods_is_recovery_and_lost_steps_and_no_startup(look: float | None) -> None:
    story = at_work(75)
    if look:
        story.look(60)
    restarted_inside(story, 60)
    story.run(30)
    story.look(60)
    seconds = story.seconds(Bucket.PROGRAM_STARTUP, Bucket.RECOVERY, Bucket.LOST)
    assert seconds == pytest.approx((8.5, 20, 15), abs=0.1)
    assert story.resumptions == [
        "torchrun restarted its processes; resumed at step 60: at least 15 steps (15 s) lost, 20 s to recover"
    ]
    assert sure(story.kept.steps).restarts == 1


def test_steps_that_no_write_had_are_not_counted_as_recovery() -> None:
    """The status is written once a minute: what the daemon has read of the processes before since then counts."""
    story = at_work(9)
    story.run(45)
    restarted_inside(story, 54)
    story.run(9)
    story.look(60)
    assert story.seconds(Bucket.RECOVERY, Bucket.LOST) == pytest.approx((20, 0), abs=0.1)


def test_each_restart_by_torchrun_counts_and_its_next_startup_is_no_recovery() -> None:
    story = at_work(75)
    for restarts in (1, 2):
        restarted_inside(story, 60, restarts=restarts)
        story.run(15)
        story.look(60)
        story.clock += 60
        story.run(3)
    assert story.seconds(Bucket.RECOVERY)[0] >= 40
    assert story.seconds(Bucket.PROGRAM_STARTUP)[0] == pytest.approx(8.5, abs=0.1)
    assert len(story.resumptions) == 2


def test_a_new_leader_counts_a_restart_by_torchrun_that_it_has_not_seen() -> None:
    story = at_work(75)
    story.look(60)
    story.clock += 60
    restarted_inside(story, 60)
    taken_over(story, 0)
    story.run(30)
    story.look(60)
    assert story.seconds(Bucket.PROGRAM_STARTUP)[0] == pytest.approx(8.5, abs=0.1)
    assert story.seconds(Bucket.LOST)[0] == pytest.approx(15, abs=0.1)


def test_a_hang_before_the_processes_come_again_is_stuck_and_not_recovery() -> None:
    story = at_work(75)
    story.hang(90)
    restarted_inside(story, 60, gap=1.0)
    story.run(30)
    story.look(60)
    assert story.seconds(Bucket.LOST)[0] == pytest.approx(15, abs=1)
    assert story.seconds(Bucket.STUCK, Bucket.RECOVERY) == (pytest.approx(91, abs=3), pytest.approx(0, abs=3))
    assert story.seconds(Bucket.PROGRAM_STARTUP)[0] == pytest.approx(8.5, abs=0.1)


def test_an_epoch_that_loses_what_an_epoch_before_it_had_kept_takes_that_back_too() -> None:
    story = Timed().assemble()
    for first, steps in ((0, 75), (60, 30), (40, 20)):
        story.begin(first)
        story.see()
        story.run(steps)
        story.fail()
        story.assemble_again()
    story.begin(60)
    story.see()
    story.run(3)
    story.look(60)
    # 0 to 75, back to 60; 60 to 90, back to 40; 40 to 60, nothing lost
    assert story.seconds(Bucket.LOST) == (15 + 50,)


def test_pauses_go_into_the_buckets_that_the_program_names() -> None:
    story = Timed().assemble()
    story.begin(0)
    story.pause(4, "checkpoint_restore")
    story.run(30)
    story.pause(20, "checkpoint_save")
    story.pause(5, "data_loading")
    story.pause(7, "unknown")
    story.run(30)
    story.look(60)
    kinds = Bucket.CHECKPOINT_SAVE, Bucket.CHECKPOINT_RESTORE, Bucket.DATA_LOADING, Bucket.OTHER
    assert story.seconds(*kinds) == (20, 4, 5, 7)
    assert story.sums.productive == story.sums.net + 36_000


def test_an_epoch_that_ends_in_a_pause_ends_it() -> None:
    story = working(30)
    story.pausing, story.spent = 600.0, story.spent._replace(kind="checkpoint_save")
    story.see()
    story.passes(25)
    story.fail()
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.CHECKPOINT_SAVE) == (30, 25)


def after_a_hang() -> Timed:
    """A gang that hung for 70 s, of which musterd has said so, and has not seen the step that ended it."""
    story = working(129)
    story.hang()
    story.passes(1.0)
    story.step, story.at, story.longest = 130, story.clock, 70.0
    return story


def test_a_hang_counts_from_the_last_step_to_the_next_one() -> None:
    story = after_a_hang()
    story.passes(2.0)  # until the next look
    story.see()
    assert story.condition(ConditionType.STUCK)[0] is False
    assert story.seconds(Bucket.STUCK) == (70,)
    story.passes(5)
    assert story.seconds(Bucket.STUCK, Bucket.PRODUCTIVE) == (70, 136)


def test_a_checkpoint_between_the_end_of_a_hang_and_the_look_that_sees_it_is_neither_work_nor_stuck() -> None:
    story = after_a_hang()
    story.pause(1.5, "checkpoint_save")
    story.passes(1.0)
    story.step, story.at = 131, story.clock
    story.passes(2.0)  # until the next look
    story.see()
    assert story.condition(ConditionType.STUCK)[0] is False
    story.run(30)
    story.pause(1.5, "checkpoint_save")
    story.run(20)
    story.fail()
    assert story.seconds(Bucket.STUCK, Bucket.CHECKPOINT_SAVE) == (70, 3)
    story.resume(161)
    assert story.seconds(Bucket.LOST) == (20,)


def test_a_gang_that_is_ended_while_it_hangs_was_stuck_since_its_last_step() -> None:
    story = working(129)
    story.hang(90)
    story.fail()
    assert story.seconds(Bucket.STUCK, Bucket.PRODUCTIVE) == (90, 129)


@pytest.mark.parametrize("late", [0.0, 2.0])
def test_a_pause_that_hangs_is_stuck_once_it_takes_longer_than_announced(late: float) -> None:
    """``late``: seconds from its end to the look that sees it."""
    story = working(129)
    story.pausing, story.spent = 10.0, story.spent._replace(kind="checkpoint_save")
    story.see()
    story.hang(90)
    story.pausing, story.longest = 0.0, 80.0
    story.spent = story.spent._replace(saved=90.0, paused=90.0, kind="")
    story.at, story.step = story.clock, 130
    story.passes(late)
    story.see()
    assert story.seconds(Bucket.STUCK, Bucket.CHECKPOINT_SAVE) == (80, 10)
    story.run(30)
    story.fail()
    story.resume(150)
    assert story.seconds(Bucket.LOST) == (10,)
    assert story.sums.wall == round(1000 * (story.now - NOW))


def test_a_pause_of_a_gang_that_is_stuck_for_another_reason_is_stuck_and_is_not_counted_twice() -> None:
    story = working(30)
    stuck(story)
    story.look()
    story.run(12)
    story.pause(20, "checkpoint_save")
    story.run(3)
    writes = story.writes
    stuck(story, "less quota")
    story.look()
    assert story.writes == writes + 1
    free(story)
    story.look()
    story.run(15)
    story.fail()
    assert story.seconds(Bucket.STUCK, Bucket.CHECKPOINT_SAVE, Bucket.PRODUCTIVE) == (35, 0, 45)
    story.resume(50)
    assert story.seconds(Bucket.LOST) == (10,)


def test_an_epoch_of_a_reporting_program_that_came_to_no_step_was_starting_up() -> None:
    story = working(30)
    story.fail()
    story.assemble_again()
    story.passes(20)
    story.fail()
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.PROGRAM_STARTUP) == (30, 20)


def test_a_daemon_that_finds_a_gang_at_work_counts_no_pause_of_before() -> None:
    story = working(60, startup=40)
    story.pause(20, "checkpoint_save")
    story.record = record(phase=Phase.RUNNING, phase_at=story.now, assembled_at=story.now, size=4)
    story.see()
    story.run(30)
    story.look(60)
    assert story.seconds(Bucket.CHECKPOINT_SAVE, Bucket.PROGRAM_STARTUP, Bucket.LOST) == (0, 0, 0)


def test_a_stall_that_is_no_hang_stays_productive_and_is_what_steps_took_beyond_the_usual_one() -> None:
    story = at_work()
    story.passes(40)  # in a step, unannounced
    story.run(60)
    story.pause(20, "checkpoint_save")
    story.run(60)
    story.look()
    assert story.seconds(Bucket.STUCK, Bucket.CHECKPOINT_SAVE, Bucket.PRODUCTIVE) == (0, 20, 290)
    assert step_time(story.sums.marks) == StepTime(1000.0, 40_000)


def taken_over(story: Timed, silent: float, dead: float = 9.0) -> None:
    """The daemon dies after that silence, and another one leads ``dead`` seconds later."""
    story.stand(silent)
    story.passes(dead)
    story.take_over()
    story.observe_probe(*range(4), passed=True)
    story.see()
    story.look()


def goes_on(story: Timed, longest: float) -> None:
    """The next step, after the longest time between two steps."""
    story.passes(1.0)
    story.step, story.at, story.longest = story.step + 1, story.clock, longest
    story.see()
    story.run(10)
    story.look(60)


@pytest.mark.parametrize(("steps", "watched"), [(39, 42), (130, 42), (130, 66)], ids=["new", "unreported", "reported"])
def test_a_hang_in_which_the_leader_died_counts_from_the_last_step_to_the_next_one(steps: int, watched: int) -> None:
    story = at_work(steps)
    taken_over(story, 48)
    story.stand(watched)
    assert story.condition(ConditionType.STUCK)[0] is (watched > 60)
    hang = 48.0 + 9 + watched + 1
    goes_on(story, hang)
    assert story.seconds(Bucket.STUCK, Bucket.PROGRAM_STARTUP) == (hang, 8.5)
    assert story.seconds(Bucket.PRODUCTIVE) == (steps + 10 + 60,)


def test_a_hang_that_a_new_leader_says_before_the_first_step_is_persisted_counts_from_its_first_look() -> None:
    story = at_work(39)
    taken_over(story, 48)
    story.stand(66)
    assert story.condition(ConditionType.STUCK) == (True, "Hung")
    goes_on(story, 124)
    assert story.seconds(Bucket.STUCK, Bucket.PROGRAM_STARTUP) == (67, 8.5)


def test_a_coordinator_that_could_not_be_read_before_a_failure_shows_no_hang() -> None:
    story = at_work()
    story.passes(80)
    story.fail()
    assert story.seconds(Bucket.STUCK) == (0,)


def test_a_hang_in_which_the_leader_died_counts_to_a_failure_that_ends_it() -> None:
    story = at_work()
    taken_over(story, 48)
    story.stand(42)
    story.fail()
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.STUCK, Bucket.PROGRAM_STARTUP) == (130, 99, 8.5)


@pytest.mark.parametrize("ends", [True, False])
def test_a_silence_that_is_usual_or_announced_is_no_hang_whoever_leads(ends: bool) -> None:
    usual, announced = at_work(), at_work()
    usual.longest = 30.0
    usual.see()
    announced.pausing, announced.spent = 300.0, announced.spent._replace(kind="checkpoint_save")
    announced.see()
    for story in (usual, announced):
        taken_over(story, 48)
        story.stand(42)
        if ends:
            story.fail()
            continue
        if story is announced:
            story.pausing, story.spent = 0.0, story.spent._replace(saved=99.0, paused=99.0, kind="")
        goes_on(story, 100.0 if story is usual else 1.0)
    assert usual.seconds(Bucket.STUCK, Bucket.PROGRAM_STARTUP) == (0, 8.5)
    assert announced.seconds(Bucket.STUCK, Bucket.CHECKPOINT_SAVE, Bucket.PROGRAM_STARTUP) == (0, 99, 8.5)


@pytest.mark.parametrize(
    ("worked", "first", "step"),
    [(130, 0, 20), (130, 0, 200), (4, 3, 8)],
    ids=["from the beginning", "further than before", "from a checkpoint"],
)
def test_a_program_that_was_started_again_is_not_dated_by_the_one_before(worked: int, first: int, step: int) -> None:
    """The kubelet has started its container again: its first step began later by its clock than the persisted one."""
    story = at_work(worked)
    story.look(60)
    story.spent, story.step, story.at = Spent(first=first, begun=story.clock), step, story.clock + 5
    story.passes(6)
    taken_over(story, 0)
    story.stand(42)
    story.fail()
    assert story.seconds(Bucket.STUCK) == (0,)


@pytest.mark.parametrize("code", [0, 1])
def test_an_epoch_of_which_a_new_leader_saw_only_the_end_is_not_reported_to_have_come_to_no_step(code: int) -> None:
    story = working(30)
    story.fail()
    story.assemble_again()
    before = story.seconds(Bucket.PRODUCTIVE)[0]
    story.passes(85)
    story.take_over()
    story.silence()
    for rank in range(4):
        story.end(rank, code, at=story.now)
    story.obey()
    assert story.kept.phase in (Phase.SUCCEEDED, Phase.RESTARTING)
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.PROGRAM_STARTUP) == (before + 85, 0)


@pytest.mark.parametrize(
    ("late", "watched", "productive"),
    [(30, None, 131), (3, None, 133), (30, 0, 131), (30, 20, 150)],
    ids=["found", "seen soon", "kept by another container", "by a clock of the node that is behind"],
)
def test_a_success_was_over_when_its_last_pod_ended_and_its_coordinator_answered_no_more(
    late: int, watched: int | None, productive: int
) -> None:
    """The kubelet gives whole seconds. ``watched``: for how long after that end the coordinator answers."""
    story = at_work()
    ends = story.now
    if watched is None:
        story.take_over()
        story.silence()
        story.passes(late)
    else:
        story.passes(watched)
        story.see()
        story.passes(late - watched)
    for rank in range(4):
        story.end(rank, 0, at=ends - rank)
    story.look()
    assert story.kept.phase is Phase.SUCCEEDED
    assert story.seconds(Bucket.PRODUCTIVE, Bucket.OTHER) == (productive, 130 + late - productive)
    assert story.sums.wall == round(1000 * (story.now - NOW))


HOSTILE = st.builds(
    Spent,
    first=st.integers(-1, 2**53),
    begun=st.floats(-1, 1e12),
    saved=st.floats(0, 1e12),
    restored=st.floats(0, 1e12),
    loaded=st.floats(0, 1e12),
    paused=st.floats(0, 1e12),
    kind=st.sampled_from(["", "checkpoint_save", "data_loading", "productive", "x"]),
    restarts=st.integers(0, 3),
)
SORTS = [
    "look", "assemble", "epoch", "fail", "epoch", "steps", "torchrun", "kubelet", "epoch", "lie", "hang", "stuck",
    "free", "suspend", "resume", "daemon", "takeover",
]  # fmt: skip
STEPS = st.integers(0, MAX_STEP - 10_000)  # the gang may go on from there
SCENES = st.lists(st.tuples(st.sampled_from(SORTS), st.floats(0, 400), HOSTILE, STEPS), max_size=14)


@given(SCENES)
def test_over_any_story_the_buckets_add_up_to_the_wall_time_and_no_sum_ever_falls(
    scenes: list[tuple[str, float, Spent, int]],
) -> None:
    story = Timed(limit=100).assemble()
    begun, out, shown = NOW, 0.0, story.sums
    suspensions = 1
    for what, seconds, spent, step in scenes:
        held = story.kept.finished or story.kept.phase is Phase.SUSPENDED
        out += seconds if held else 0.0
        story.passes(seconds)
        shown = checked(story, shown)
        match what:
            case "assemble" if story.kept.phase in (Phase.PENDING, Phase.RESTARTING) and story.view.engine.answered:
                story.assemble_again()
            case "fail" if story.kept.phase is Phase.RUNNING:
                story.end(1, 1, at=story.now - spent.saved % 100)
                story.obey()
            case "steps" if story.kept.phase is Phase.RUNNING:
                story.run(seconds % 100)
            case "torchrun" if story.kept.phase is Phase.RUNNING:
                restarted_inside(story, step % 200, gap=seconds % 90, restarts=story.spent.restarts + spent.restarts)
                story.run(seconds % 20)
            case "kubelet" if story.kept.phase is Phase.RUNNING:
                restarted_by_the_kubelet(story, step % 200, seconds % 90, ago=spent.saved % 100)
                story.run(seconds % 20)
            case "epoch" if story.kept.phase is Phase.RUNNING and story.view.engine.answered:
                story.begin(step % 200, startup=seconds % 20)
                story.see()
                story.run(60)
                story.look(60)
                story.clock += 60
                story.end(1, 1, at=story.now)
                story.obey()
                shown = checked(story, shown)
                story.assemble_again()
            case "lie" if story.kept.phase is Phase.RUNNING:
                story.spent, story.step, story.at = spent, step, spent.restored
                story.see()
                story.look(60)
                story.clock += 60
            case "hang" if story.kept.phase is Phase.RUNNING and story.view.engine.answered:
                story.begin(step % 200)
                story.see()
                story.run(6)
                story.pausing = float(step % 2 * 10)
                story.stand(69)
                shown = checked(story, shown)
                story.step, story.at, story.longest = story.step + 1, story.clock, 69.0 - story.pausing
                story.pausing = 0.0
                story.pause(69 if step % 2 else seconds % 30, "checkpoint_save")
                story.see()
            case "stuck":
                stuck(story)
                story.look()
            case "free":
                free(story)
                story.look()
            case "suspend" | "resume":
                suspensions += 1
                story.plan = edited(story.plan, suspend=what == "suspend")
                story.obey()
            case "daemon":
                story.record, story.view.progress = from_status(to_status(story.kept)), None
            case "takeover" if story.kept.phase is Phase.RUNNING and story.view.engine.answered:
                story.see()
                taken_over(story, seconds % 90, dead=spent.saved % 90)
                shown = checked(story, shown)
                story.stand(seconds % 80)
                goes_on(story, seconds)
            case _:
                story.look()
        shown = checked(story, shown)
    passed = 1000 * (story.now - begun - out)
    assert passed - 1 - suspensions <= shown.wall <= passed + 1


def checked(story: Timed, before: Goodput) -> Goodput:
    """The sums now: none is smaller than before, and none less than nothing."""
    sums, persisted = story.sums, story.kept.goodput
    assert sums.net >= 0
    assert persisted is not None
    assert persisted.net >= 0, "more is taken back than was counted"
    assert (sums.productive, sums.taken_back) >= (0, 0)
    assert sums.productive >= before.productive
    assert sums.taken_back >= before.taken_back
    for bucket in BADPUT:
        assert sums.of(bucket) >= before.of(bucket), bucket
    assert sums.wall >= before.wall
    assert sums.wall == sums.productive - sums.taken_back + sum(sums.of(bucket) for bucket in BADPUT)
    return sums
