"""A program that asks Ray for what none of its nodes has is said at once, and is Stuck after a minute."""

from muster.state.policies.gathering import obstacles
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.record import ConditionType
from tests.builders import plan
from tests.state.story import Story

STUCK = ConditionType.STUCK
UNMET = "no Ray node has what a waiting task or actor asks for: GPU 2"


def assembled() -> Story:
    """A gang whose members have all arrived, and whose head has just reported the request."""
    story = Story(plan(probe=ProbeKind.RAY))
    story.assemble()
    hear(story, UNMET)
    return story


def hear(story: Story, unmet: str) -> None:
    """The head's next answer: it has all members."""
    story.observe_probe(*range(story.plan.size), unmet=unmet)


def test_it_is_named_at_once_and_stuck_after_a_minute_until_a_node_has_it() -> None:
    story = assembled()
    story.look(1)
    assert UNMET in story.kept.message
    assert story.condition(STUCK)[0] is not True
    story.look(obstacles.UNMET_PATIENCE)
    assert story.condition(STUCK) == (True, "RequestUnmet")
    assert UNMET in story.kept.message
    hear(story, "")
    story.look(1)
    story.look(20)
    assert story.condition(STUCK)[0] is not True
    assert "Ray node" not in story.kept.message


def test_a_head_that_does_not_answer_is_no_evidence_of_it() -> None:
    story = assembled()
    story.silence()
    story.look(obstacles.UNMET_PATIENCE + 1)
    assert story.condition(STUCK) == (True, "CoordinatorUnreachable")


def test_a_question_that_is_not_answered_does_not_begin_the_minute_anew() -> None:
    story = assembled()
    story.look(1)
    for _ in range(3):
        story.look((obstacles.UNMET_PATIENCE - 2) / 3)
        story.silence()
        story.look(1)
        hear(story, UNMET)
    story.look(2)
    assert story.condition(STUCK) == (True, "RequestUnmet")
