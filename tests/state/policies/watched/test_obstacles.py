"""What is said of failed members and of missing pods of a watched run."""

import pytest

from muster.state.facts.context import Context
from muster.state.summary import obstacles
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Engine, Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import NOW, plan, pod, record, view, worker_group

CAUSE = Cause(0, "Error", "", NOW, pod="run-1", uid="pod-1-0", rank=1, exit_code=1)


def context(*pods: Pod, of: Plan | None = None, cause: Cause | None = None) -> Context:
    wanted = of or plan(engine=Engine.WATCH)
    return Context.at(wanted, record(phase=Phase.RUNNING, cause=cause), view(*pods), NOW)


def crashed(rank: int) -> Pod:
    return pod(rank, phase=PodPhase.FAILED, ready=False, exit=Exit("main", 1, 0, "Error", "", NOW))


@pytest.mark.parametrize(
    ("ranks", "cause", "sentence"),
    [
        ((), CAUSE, ""),
        ((1,), CAUSE, "rank 1 (run-1) ended with exit code 1"),
        ((1, 2, 3), CAUSE, "rank 1 (run-1) ended with exit code 1, and 2 more"),
        ((1,), None, "a member failed"),
        ((1, 2), Cause(-1, "Error", "of an older epoch", NOW), "a member failed, and 1 more"),
    ],
)
def test_the_first_failure_of_the_epoch_is_named_and_the_others_are_counted(
    ranks: tuple[int, ...], cause: Cause | None, sentence: str
) -> None:
    assert obstacles.failed(context(*(crashed(rank) for rank in ranks), cause=cause)) == sentence


def sized(size: int) -> Plan:
    return plan(size=size, engine=Engine.WATCH)


@pytest.mark.parametrize(
    ("size", "there", "sentence"),
    [
        (4, (0, 1, 2, 3), ""),
        (4, (0, 1, 2), "3/4 pods exist; rank 3 has no pod"),
        (4, (1,), "1/4 pods exist; ranks 0, 2-3 have no pod"),
        (16, (), "0/16 pods exist; ranks 0-15 have no pod"),
        (17, (), "fewer than 9 of 17 pods exist"),
    ],
)
def test_ranks_without_a_pod_are_named_in_a_small_gang(size: int, there: tuple[int, ...], sentence: str) -> None:
    assert obstacles.without_pods(context(*(pod(rank) for rank in there), of=sized(size))) == sentence


@pytest.mark.parametrize(
    ("done", "working", "sentence"),
    [
        (0, 2, ""),
        (0, 1, "1/2 pods of this turn exist"),
        (0, 0, "0/2 pods of this turn exist"),
        (3, 2, ""),
        (3, 1, "1/2 pods of this turn exist"),
        (5, 1, ""),
        (5, 0, "0/1 pods of this turn exist"),
        (6, 0, ""),
    ],
)
def test_of_six_members_that_run_two_at_a_time_a_pod_that_is_not_made_is_missing_in_every_turn(
    done: int, working: int, sentence: str
) -> None:
    turns = plan(groups=(Group("worker", 1, 6, PodSpec(), 0, parallelism=2),), engine=Engine.WATCH)
    ended = [pod(rank, phase=PodPhase.SUCCEEDED, ready=False) for rank in range(done)]
    live = [pod(rank) for rank in range(done, done + working)]
    assert obstacles.without_pods(context(*ended, *live, of=turns)) == sentence


def test_a_rank_that_is_done_misses_no_pod() -> None:
    seen = context(pod(1), pod(0), of=sized(3))
    done = pod(2, phase=PodPhase.SUCCEEDED, ready=False)
    live = view(pod(1), done)
    live.change(done, None)
    assert obstacles.without_pods(seen) == "2/3 pods exist; rank 2 has no pod"
    assert obstacles.without_pods(Context.at(seen.plan, seen.record, live, NOW)) == "2/3 pods exist; rank 0 has no pod"


def test_a_member_whose_gate_is_closed_misses_no_pod() -> None:
    submitter = Group("submitter", 1, 1, PodSpec(), 2, gates=(Gate(GateCondition.READY, "worker"),))
    gated = plan(groups=(worker_group(2), submitter), engine=Engine.WATCH)
    assert obstacles.without_pods(context(pod(0), pod(1, ready=False), of=gated)) == ""
    assert obstacles.without_pods(context(pod(0), pod(1), of=gated)) == "2/3 pods exist; rank 2 has no pod"
