"""What is decided for a Ray experiment: who starts when, when the roll is complete, and when it is stuck."""

from dataclasses import replace

import msgspec
import pytest

from muster.kinds.ray.operator import FREE_STARTS
from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.facts.sentences import sentence
from muster.state.policies import rendezvous
from muster.state.policies.failures import culprit
from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer, of_rank
from muster.state.vocabulary.actions import CreatePods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import NOW, answer, pod, record, sure
from tests.kinds.ray.test_kuberay import planned
from tests.state.gathered import gathered
from tests.state.story import Story

HEAD, SMALL, BIG, SUBMITTER = (0,), (1, 2), (3,), (4,)
ALIVE, DEAD, ENDED = RankState.CONNECTED, RankState.FAILED, RankState.LEFT


def ip(rank: int) -> str:
    return f"10.0.0.{rank + 1}"


def heard(*ranks: int, submitted: bool = False) -> RollAnswer:
    """The dashboard's answer: these Ray nodes are alive."""
    identities = (*(ip(rank) for rank in ranks), *((of_rank(4),) if submitted else ()))
    return answer(*[ALIVE] * len(identities), expected=5, identities=identities, protocol="ray")


def place(plan: Plan, rank: int, epoch: int = 0, **overrides: object) -> Pod:
    member = sure(plan.member(rank))
    return pod(
        rank, epoch=epoch, name=plan.pod_name(member, epoch), group=member.group, job=member.job, index=member.pod,
        **overrides,
    )  # fmt: skip


def asked_for(story: Story) -> list[int]:
    actions = story.look()
    return [member.rank for action in actions if isinstance(action, CreatePods) for member in action.members]


def story_of(plan: Plan | None = None, *, pods: int = 0, roll: RollAnswer | None = None) -> Story:
    """A Ray experiment that may begin: so many pods run, and this is the roll of the dashboard."""
    story = Story(plan or planned())
    story.view.engine.confirmed, story.view.engine.service = 0, True
    for rank in range(pods):
        story.view.change(None, place(story.plan, rank))
    if roll is not None:
        story.view.observe_probe(roll, 0)
    return story


def test_head_then_workers_then_submitter() -> None:
    story = story_of()
    plan = story.plan
    assert asked_for(story) == [*HEAD]
    story.view.change(None, place(plan, 0))
    assert asked_for(story) == [], "the head's process runs, and the GCS does not answer yet"
    story.view.observe_probe(heard(0), 0)
    assert asked_for(story) == [*SMALL, *BIG]
    for rank in (*SMALL, *BIG):
        story.view.change(None, place(plan, rank))
    story.view.observe_probe(heard(0, 1, 3), 0)
    assert asked_for(story) == [], "rank 2 has not joined"
    story.view.observe_probe(heard(0, 1, 2, 3), 0)
    assert asked_for(story) == [*SUBMITTER]
    story.view.change(None, place(plan, 4))
    story.look()
    assert story.kept.phase is Phase.ASSEMBLING
    story.view.observe_probe(heard(0, 1, 2, 3, submitted=True), 0)
    story.look()
    assert (story.kept.phase, story.kept.ready, story.kept.size) == (Phase.RUNNING, 5, 5)
    assert story.kept.dashboard == plan.dashboard_address(0)


LACKS = "Ray's GCS accepts connections at port 6379, its dashboard does not serve (port 8265: connection refused)"


def without_dashboard() -> RollAnswer:
    """The answer of a head whose GCS is at work, and whose dashboard is not."""
    return answer(ALIVE, expected=None, partial=LACKS, lacks=LACKS, protocol="ray")


def test_workers_wait_until_the_head_is_in_its_own_list_of_nodes() -> None:
    story = story_of()
    assert asked_for(story) == [*HEAD]
    story.view.change(None, place(story.plan, 0))
    story.view.observe_probe(without_dashboard(), 0)
    assert asked_for(story) == [], "the port of the GCS is open before the head has joined"
    story.view.observe_probe(heard(0), 0)
    assert asked_for(story) == [*SMALL, *BIG]
    story.view.observe_probe(without_dashboard(), 0)
    assert asked_for(story) == [*SMALL, *BIG], "it has served with all that belongs to it"


def test_the_probe_is_told_what_to_look_for() -> None:
    story = story_of(pods=1)
    story.look()
    target = sure(sure(story.last).probe)
    assert (target.address, target.kind, target.expected) == (f"{ip(0)}:6379", "ray", 5)
    assert (target.job, target.submitter) == ("run-0", 4)
    assert {port.name: port.number for port in target.ports} == {"dashboard": 8265, "agent": 52365}


def test_a_missing_worker_is_named_with_its_group() -> None:
    story = story_of(pods=4, roll=heard(0, 1, 3))
    story.look()
    name = story.plan.pod_name(story.plan.groups[1].member(1), 0)
    assert f"missing rank 2: ready, but not registered with Ray (cpu-small-1, {name}); rank 4: " in story.kept.message
    assert name.startswith("run-cpu-small-0-1-")


def test_ray_nodes_may_take_a_minute_to_join() -> None:
    story, assembling = story_of(pods=4, roll=heard(0, 1, 3)), record(phase=Phase.ASSEMBLING, assembling_at=NOW)
    for after, reason in ((59.0, None), (60.0, "RanksMissing")):
        context = Context.at(story.plan, assembling, story.view, NOW + after)
        stuck = gathered(context, rendezvous.assess(context)).stuck
        assert (stuck and stuck[0]) == reason


@pytest.mark.parametrize("runs_again", [False, True])
def test_a_node_that_ray_gave_up_is_stuck_with_rays_reason_unless_its_worker_is_to_run_again(runs_again: bool) -> None:
    states, gave_up = (ALIVE, ALIVE, ALIVE, DEAD, ALIVE), RankError(3, 0, "missing too many heartbeats")
    heard_so = replace(heard(0, 1, 3, 2, submitted=True), states=states, errors=(gave_up,))
    story = story_of(pods=5, roll=heard_so)
    if runs_again:
        story.view.change(None, place(story.plan, 2, phase=PodPhase.FAILED, ready=False))
    context = Context.at(story.plan, record(phase=Phase.RUNNING), story.view, NOW)
    text = "RankFailed", "the coordinator gave up rank 2: missing too many heartbeats"
    assert gathered(context, rendezvous.assess(context)).stuck == (None if runs_again else text)


def test_what_ray_says_of_addresses_that_are_no_members_is_left_out() -> None:
    text = replace(heard(0), identities=(ip(0), "10.9.9.9"), states=(ALIVE, DEAD), errors=(RankError(1, 0, "gone"),))
    story = story_of(pods=1, roll=text)
    result = sure(story.view.probe_result_of(0))
    assert (result.arrived, result.answer.errors, result.missing) == (1, (), (1, 2, 3, 4))


def test_the_experiment_succeeds_with_its_submitter() -> None:
    story = story_of(pods=5, roll=heard(0, 1, 2, 3, submitted=True))
    story.look()
    running = place(story.plan, 4)
    ended = msgspec.structs.replace(running, phase=PodPhase.SUCCEEDED, ready=False, resource_version=2)
    story.view.change(running, ended)
    story.look()
    assert (story.kept.phase, story.kept.message) == (Phase.SUCCEEDED, "the member of submitter succeeded")


# --- failures ----------------------------------------------------------------------------------------------------


def running() -> Story:
    story = Story(planned())
    story.launch()
    for ranks, seen in (((0,), heard(0)), ((1, 2, 3), heard(0, 1, 2, 3)), ((4,), heard(0, 1, 2, 3, submitted=True))):
        story.start(*ranks)
        story.look()
        story.view.observe_probe(seen, 0)
        story.launch()
    assert story.kept.phase is Phase.RUNNING, story.kept.message
    return story


def went_on(story: Story) -> list[tuple[int, int]]:
    """Rank and attempt of the pods that are created next, once the back-off is over."""
    story.now = max(story.now, *(each.resume_at or 0.0 for each in story.kept.attempts), 0.0)
    made: list[tuple[int, int]] = []
    for _ in range(20):
        actions = story.look()
        if not actions:
            return made
        for action in actions:
            story.do(action)
            if isinstance(action, CreatePods):
                made += [(member.rank, dict(action.attempts).get(member.rank, 0)) for member in action.members]
    raise AssertionError("the decisions do not come to an end")


def give_up(story: Story, rank: int, words: str) -> None:
    story.set(rank, phase=PodPhase.FAILED, ready=False, exit=Exit("main", 1, 0, "Error", words, story.now))


NOT_LISTED = "Exception: No node info found for head node in GCS. Did the head node or gcs start successfully?"
NOT_STARTED = "Exception: The current node timed out during startup. This could happen because some of the"


@pytest.mark.parametrize(
    ("rank", "disruption", "restarts"), [(2, "", 1), (3, "PreemptionByScheduler", 0), (4, "EvictionByEvictionAPI", 0)]
)
def test_a_worker_that_fails_and_a_pod_that_the_platform_takes_away_run_again_alone(
    rank: int, disruption: str, restarts: int
) -> None:
    story = running()
    if disruption:
        story.set(rank, disruption=disruption, terminating=True)
    story.end(rank, 1)
    story.look()
    assert (story.kept.epoch, story.kept.phase, story.kept.restarts) == (0, Phase.RUNNING, restarts)
    assert went_on(story) == [(rank, 1)]


@pytest.mark.parametrize(
    "ends", [{0: 137}, {1: 1, 2: 1, 3: 1, 4: 1, 0: 137}, {4: 3}], ids=["head", "head, and all with it", "program"]
)
def test_without_its_head_or_its_program_the_whole_epoch_is_over(ends: dict[int, int]) -> None:
    story = running()
    for rank, code in ends.items():
        story.end(rank, code)
    story.look()
    kept = story.kept
    assert (kept.epoch, kept.phase, kept.restarts, kept.attempts) == (1, Phase.RESTARTING, 1, ())
    assert sure(kept.cause).group == ("head" if 0 in ends else "submitter")


@pytest.mark.parametrize("words", [NOT_LISTED, NOT_STARTED])
def test_a_worker_that_does_not_start_in_rays_own_time_runs_again_at_no_cost(words: str) -> None:
    story = running()
    give_up(story, 2, words)
    story.look()
    story.look(culprit.WAIT)
    assert (story.kept.epoch, story.kept.restarts) == (0, 0)
    assert story.kept.cause is not None
    assert words in sentence(story.kept.cause)
    assert went_on(story) == [(2, 1)]


def test_a_head_that_does_not_start_in_rays_own_time_begins_again_at_no_cost() -> None:
    story = story_of()
    story.launch()
    story.start(0, 1)
    give_up(story, 0, NOT_STARTED)
    story.look()
    story.look(culprit.WAIT)
    assert (story.kept.epoch, story.kept.phase, story.kept.restarts) == (1, Phase.RESTARTING, 0)
    assert NOT_STARTED in story.kept.message


def test_a_worker_that_never_starts_is_charged_in_the_end() -> None:
    story = running()
    for attempt in range(FREE_STARTS + 1):
        assert (story.kept.restarts, story.kept.attempt_of(2)) == (0, attempt)
        give_up(story, 2, NOT_STARTED)
        story.look()
        story.look(culprit.WAIT)
        assert went_on(story) == [(2, attempt + 1)]
        story.start(2)
    assert story.kept.restarts == 1


def test_workers_that_give_up_while_the_head_is_known_not_to_serve_end_with_it_as_the_cause() -> None:
    story = running()
    frozen = replace(answer(), coordinator=CoordinatorState.SILENT, detail="the GCS does not answer: 503")
    for _ in range(30):
        story.look(5)
        story.view.observe_probe(replace(frozen, at=story.now), 0)
    story.look()
    assert story.kept.known is not None, "the head is known to be stuck"
    give_up(story, 2, NOT_LISTED)
    story.look()
    story.look(culprit.WAIT)
    assert (story.kept.epoch, story.kept.restarts, sure(story.kept.cause).rank) == (1, 0, 0)


def test_while_a_worker_is_away_the_sentence_names_it_with_its_group() -> None:
    story = running()
    story.end(2, 1)
    assert went_on(story) == []
    story.view.observe_probe(replace(heard(0, 1, 3, submitted=True), at=story.now), 0)
    story.look(5)
    assert story.kept.phase is Phase.RUNNING
    assert "4/5 ranks arrived; missing rank 2 (cpu-small-1, run-cpu-small-0-1-" in story.kept.message


def test_a_head_alone_has_not_arrived_before_its_dashboard_serves() -> None:
    whole = planned()
    plan = replace(whole, groups=(whole.groups[0], replace(whole.groups[-1], first_rank=1)))
    story = story_of(plan, pods=1)
    assembling = record(phase=Phase.ASSEMBLING)
    for roll, arrived in ((without_dashboard(), False), (heard(0), True)):
        story.view.observe_probe(roll, 0)
        context = Context.at(plan, assembling, story.view, NOW)
        assert gates.gate_open(context, Gate(GateCondition.ARRIVED)) is arrived
