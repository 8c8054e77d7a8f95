"""What was known of a watched run that was stuck is kept at its suspension, and only until it is resumed."""

from muster.state.policies.watched.following import DELETED
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.view.progress import StepReport
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import PodPhase
from muster.state.vocabulary.record import Phase
from tests.builders import edited, plan, pod
from tests.state.story import Story

SUSPENDED = OwnState(OwnVerdict.SUSPENDED)


def stuck() -> Story:
    """Rank 2 has no image, and the others wait for it at the coordinator."""
    story = Story(plan(engine=Engine.WATCH))
    story.view.own = OwnState()
    story.look()
    for rank in (0, 1, 3):
        story.set(rank)
    story.set(2, phase=PodPhase.PENDING, ready=False, started=False, waiting_reason="ImagePullBackOff")
    story.look(1)
    story.observe_probe(0, 1, 3)
    for _ in range(12):
        story.look(10)
    assert story.kept.stuck_reason == "ImagePullBackOff"
    return story


def suspended(story: Story) -> None:
    """Its controller suspends it, and its pods end."""
    story.view.own = SUSPENDED
    story.look()
    for rank in range(4):
        story.gone(rank)
    story.view.forget_coordinator()  # as the daemon does (tracking.entry)
    story.look(60)


BLOCKED = f"rank 2 ({pod(2).name}) blocked the gang for 2m (ImagePull: the image example.org/train:1 cannot be pulled)"


def lines(story: Story, reason: str) -> list[str]:
    return [line.message for line in story.kept.story if line.reason == reason]


def test_a_suspension_keeps_what_blocked_the_gang_in_its_story_its_message_and_its_cause() -> None:
    story = stuck()
    suspended(story)
    assert lines(story, "Suspended") == [f"it was suspended; {BLOCKED}"]
    assert lines(story, "MemberFailed") == [], "it blocked the gang, and did not fail"
    assert story.kept.message == f"the Experiment is suspended; {BLOCKED}"
    assert (story.cause.rank, story.cause.reason, story.cause.evidence) == (2, "ImagePull", "it was suspended")


def test_a_run_in_a_queue_after_its_suspension_keeps_it_too() -> None:
    story = stuck()
    story.view.own = OwnState(OwnVerdict.SUSPENDED, queued="waiting for quota")
    story.look()
    assert story.kept.message == f"waiting for quota; {BLOCKED}"


def test_the_failure_of_a_run_that_is_suspended_then_is_kept_with_what_blocked_it_before() -> None:
    story = stuck()
    story.end(1, 1)
    story.look()
    assert (story.cause.rank, story.cause.before) == (1, "")
    story.view.own = SUSPENDED
    story.look()
    assert (story.cause.rank, story.cause.before) == (1, BLOCKED)
    assert lines(story, "Suspended") == [f"it was suspended; before that, {BLOCKED}"]
    assert len(lines(story, "MemberFailed")) == 1


def test_a_resumed_run_does_not_end_for_what_happened_before_its_suspension() -> None:
    story = stuck()
    suspended(story)
    story.view.own = OwnState()
    story.look(60)
    assert (story.kept.phase, story.kept.epoch, story.kept.cause) == (Phase.PENDING, 0, None)
    story.view.own = OwnState(OwnVerdict.FAILED, message="too late")
    story.look(1)
    assert (story.kept.message, story.kept.cause) == ("too late", None)


def reporting() -> Story:
    """A gang at work whose programs have reported steps."""
    story = Story(plan(engine=Engine.WATCH))
    story.view.own = OwnState()
    story.look()
    at_work(story)
    for step in range(60):
        steps(story, step)
    return story


def hung() -> Story:
    """A gang whose programs have reported no step for so long that it is Hung."""
    story = reporting()
    silent(story)
    assert story.kept.stuck_reason == "Hung"
    return story


def silent(story: Story, seconds: int = 90) -> None:
    for _ in range(0, seconds, 3):
        steps(story, 60)


def test_a_gang_does_not_hang_while_a_member_of_it_has_failed() -> None:
    story = reporting()
    silent(story, 30)
    story.end(1, 1)
    silent(story)
    assert [line.partition(":")[0] for line in lines(story, "Stuck")] == ["MemberFailed"]
    assert story.cause.rank == 1


def test_a_hang_in_which_a_member_fails_goes_on_and_is_what_blocked_the_gang() -> None:
    story = hung()
    story.end(1, 1)
    story.look(1)
    assert (story.kept.stuck_reason, story.cause.rank) == ("Hung", 1)


def at_work(story: Story) -> None:
    for rank in range(4):
        story.set(rank)
    story.look(1)
    story.observe_probe(*range(4), passed=True)
    story.look(1)
    assert story.kept.phase is Phase.RUNNING


def steps(story: Story, step: int) -> None:
    """Three seconds later the coordinator shows that all ranks have come to that step."""
    story.now += 3
    story.observe_probe(
        *range(4), passed=True, reports=tuple(StepReport(n, step, step + 1, 1.0, 1.0) for n in range(4))
    )
    story.look()


def test_a_resumed_run_does_not_hang_by_the_reports_of_before_its_suspension() -> None:
    story = hung()
    suspended(story)
    story.view.own = OwnState()
    story.look(60)
    at_work(story)
    assert story.kept.stuck_reason == ""


def test_the_end_of_a_run_that_was_deleted_while_it_was_stuck_has_what_blocked_it() -> None:
    story = stuck()
    story.plan = edited(story.plan, deleting=True, deleted_at=story.now, finalizers=("foregroundDeletion",))
    story.look()
    for rank in range(4):
        story.gone(rank)
    story.look(90)
    assert story.kept.reason == DELETED
    assert story.kept.message.startswith(f"it was deleted before its end; {BLOCKED}; being deleted; ")
    assert lines(story, "MemberFailed") == []
