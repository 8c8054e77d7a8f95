"""What the API server refuses: said at once or once it lasts, tried again with back-off, and cleared."""

from muster.state.decide.machine import decide
from muster.state.policies.refusal import READ_PODS
from muster.state.view.engine_facts import EngineFacts, Refusal
from muster.state.vocabulary.actions import CreatePods, EnsureService
from muster.state.vocabulary.pod import Exit, PodPhase
from muster.state.vocabulary.record import ConditionType, Phase
from tests.builders import NOW, plan, pod, record, sure, view
from tests.state.story import Story

QUOTA = Refusal("QuotaExceeded", "exceeded quota: gpus", final=False)
DOWN = Refusal("WebhookFailed", "failed calling webhook", final=False, passing=True)


def refused(refusal: Refusal, *times: float) -> EngineFacts:
    """The facts after the same action was refused at each of these times."""
    facts = EngineFacts()
    for at in times:
        facts.refuse(refusal, "CreatePods", at, at)
    return facts


def pauses(refusal: Refusal, count: int) -> list[float]:
    facts, at, found = EngineFacts(), NOW, []
    for _ in range(count):
        facts.refuse(refusal, "CreatePods", at, at)
        assert facts.refused is not None
        found.append(round(facts.refused.retry_at - at, 3))
        at = facts.refused.retry_at
    return found


def test_a_refusal_is_reported_at_once_and_retried_after_5_to_30_seconds() -> None:
    assert refused(QUOTA, NOW).refusal == QUOTA
    assert pauses(QUOTA, 5) == [5.0, 10.0, 20.0, 30.0, 30.0]


def test_a_passing_refusal_is_reported_once_it_has_lasted_two_seconds() -> None:
    assert refused(DOWN, NOW, NOW + 1.9).refusal is None
    assert refused(DOWN, NOW, NOW + 2.0).refusal == DOWN
    assert pauses(DOWN, 8) == [0.1, 0.2, 0.4, 0.8, 1.0, 5.0, 10.0, 20.0]


def test_a_request_that_took_two_seconds_to_fail_is_reported_at_once() -> None:
    facts = EngineFacts()
    facts.refuse(DOWN, "CreatePods", NOW - 2, NOW)
    assert facts.refusal == DOWN


def test_the_wait_that_the_api_server_asks_for_is_kept() -> None:
    facts = EngineFacts()
    facts.refuse(Refusal("ApiServerBusy", "", final=False, passing=True, retry_after=7.0), "CreatePods", NOW, NOW)
    assert sure(facts.refused).retry_at == NOW + 7


def test_refused_pods_are_reported_and_not_created_before_the_pause_is_over() -> None:
    story = Story(plan(size=2))
    story.obey()
    assert [type(action) for action in story.look()] == [EnsureService, CreatePods]
    story.view.engine.refuse(QUOTA, "CreatePods", story.now, story.now)
    story.view.engine.service = True
    assert story.look() == ()
    assert (sure(story.last).held, story.wake_at) == (True, story.now + 5)
    assert story.condition(ConditionType.STUCK) == (True, "QuotaExceeded")
    assert story.kept.reason == "QuotaExceeded"
    assert story.kept.message.startswith("exceeded quota: gpus; waiting for ")
    assert [type(action) for action in story.look(5)] == [CreatePods]
    assert story.condition(ConditionType.STUCK) == (True, "QuotaExceeded"), "it stays until it is accepted"


def test_what_does_not_build_on_the_refused_action_goes_on() -> None:
    story = Story(plan(size=2))
    story.look()
    story.view.engine.confirmed = 0
    story.view.engine.refuse(QUOTA, "CreatePods", story.now, story.now)
    assert [type(action) for action in story.look()] == [EnsureService]


def test_a_suspension_does_not_wait_for_a_refused_create() -> None:
    run = plan(size=2, suspend=True)
    seen = view(pod(0))
    seen.engine.refuse(QUOTA, "CreatePods", NOW, NOW)
    decision = decide(run, record(phase=Phase.PENDING, started_at=NOW, epoch_at=NOW), seen, NOW)
    assert decision.record.phase is Phase.SUSPENDED
    assert decision.actions
    assert not decision.held


def test_a_failure_that_cannot_be_checked_against_the_live_api_is_reported_and_not_charged() -> None:
    ended = Exit("main", 1, 0, "Error", "", NOW)
    seen = view(pod(0, phase=PodPhase.FAILED, exit=ended, resource_version=5))
    before = record(phase=Phase.RUNNING, started_at=NOW, epoch_at=NOW, scheduled_at=NOW, assembled_at=NOW)
    silent = decide(plan(), before, seen, NOW)
    assert (silent.read_first, silent.write) == (True, False)
    seen.engine.refuse(Refusal("RightsMissing", "cannot list pods", final=False), READ_PODS, NOW, NOW)
    said = decide(plan(), before, seen, NOW)
    assert (said.read_first, said.write, said.actions) == (True, True, ())
    assert (said.record.phase, said.record.reason, said.record.restarts) == (Phase.RUNNING, "RightsMissing", 0)
