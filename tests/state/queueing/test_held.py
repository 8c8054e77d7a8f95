"""Objects that Kueue itself suspends and resumes, Muster's JobSets and watched runs alike, say what they wait for."""

import pytest

from muster.state.view.own import OwnState, OwnVerdict
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.workload import Workload
from tests.builders import plan
from tests.state.queueing.test_queue import conditions
from tests.state.story import Story

FULL = ("False", "Pending", "insufficient unused quota for cpu in flavor standard, 4 more needed")
TOO_BIG = ("False", "ExceedsMaxQuota", "insufficient quota for cpu, request (6) > maximum capacity (4)")


def admission(*true: str, queue: str = "q", **others: tuple[str, str, str]) -> Workload:
    said = conditions(*true, **others)
    return Workload("w", "jobset-run", "team", "uid-1", 1, 1, queue, True, False, (), said, ours=False)


def suspended(engine: Engine, *, label: str = "q") -> Story:
    story = Story(plan(engine=engine, suspend=True, local_queue=label, probe=ProbeKind.NONE, coordinator=None))
    if engine is Engine.WATCH:
        story.view.own = OwnState(verdict=OwnVerdict.SUSPENDED, reason="SuspendedJobs")
    return story


STUCK = ConditionType.STUCK
PREEMPTED = admission(
    QuotaReserved=("False", "Pending", "Preempted to accommodate a workload"), Requeued=("False", "Preempted", "")
)
both = pytest.mark.parametrize("engine", Engine)


@both
@pytest.mark.parametrize(
    ("label", "seen", "message", "stuck"),
    [
        ("q", admission(QuotaReserved=FULL), f"queued in q: {FULL[2]}", (False, "NotStuck")),
        ("q", PREEMPTED, f"queued in q: {PREEMPTED.conditions[0].message}; not in the queue again yet", None),
        ("q", admission(QuotaReserved=TOO_BIG), f"queued in q: {TOO_BIG[2]}", (True, "ExceedsMaxQuota")),
        ("", admission(queue="default", QuotaReserved=FULL), f"queued in default: {FULL[2]}", None),
    ],
    ids=["it waits for quota", "it was preempted", "it can never be admitted", "Kueue queues it without a label"],
)
def test_an_object_that_kueue_holds_shows_the_words_of_kueue(
    engine: Engine, label: str, seen: Workload, message: str, stuck: tuple[bool, str] | None
) -> None:
    story = suspended(engine, label=label)
    story.view.admission = seen
    story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.SUSPENDED, stuck[1] if stuck and stuck[0] else "Queued")
    assert story.kept.message.startswith(message)
    assert stuck in (None, story.condition(STUCK))


@both
def test_without_a_right_to_read_workloads_the_label_says_who_decides(engine: Engine) -> None:
    story = suspended(engine)
    story.view.queue_problem = "musterd runs without --kueue"
    story.look(100)
    assert story.kept.message == "suspended, and its queue label names q: Kueue decides when it continues"
    assert story.condition(STUCK) == (False, "NotStuck")


@both
def test_an_object_that_kueue_takes_no_notice_of_is_stuck_after_a_minute(engine: Engine) -> None:
    story = suspended(engine)
    story.look(1)
    assert story.kept.message == "suspended, and its queue label names q: Kueue has made no Workload for it yet"
    assert story.condition(STUCK) == (False, "NotStuck")
    story.look(story.wake_at - story.now)
    assert story.condition(STUCK) == (True, "QueueSilent")
    assert "see whether Kueue's controller runs, and manages Experiments in this namespace" in story.kept.message


@both
def test_an_object_without_queue_is_suspended_by_its_spec(engine: Engine) -> None:
    story = suspended(engine, label="")
    story.look(1)
    words = {Engine.NATIVE: "suspended by spec.suspend; set it to false to continue"}
    assert story.kept.message == words.get(engine, "the Experiment is suspended")


def test_a_workload_that_kueue_made_is_never_written_by_muster() -> None:
    story = suspended(Engine.NATIVE)
    story.view.admission = admission("Admitted", "QuotaReserved")
    assert story.look(1) == ()
    assert story.kept.message == "admitted by q"
    assert story.kept.conditions[0].type is ConditionType.SUSPENDED
