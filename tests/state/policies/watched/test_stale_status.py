"""What is said of a watched run that its own controller does not say."""

from typing import Any

import pytest

from muster.state.facts.context import Context
from muster.state.policies.watched.obstacles import FOLLOWED_WITHIN, unsaid
from muster.state.summary import obstacles
from muster.state.summary.obstacles import AGAIN as NAMED
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer, Work
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, answer, plan, pod, record, view

ON = RankState.CONNECTED
ROLL = answer(ON, ON, ON, ON)
DONE = Work("rj-x", "SUCCEEDED", "", ended=True)


NOTHING = ("", "", 0.0)


def unsaid_of(
    *pods: Pod, heard: RollAnswer = ROLL, own: OwnState | None = None, **changes: Any
) -> tuple[str, str, float]:
    """Reason and sentence of what is not shown, and from when on it counts."""
    of = view(*(pods or (pod(0), pod(1), pod(2), pod(3))), heard=ROLL)
    of.observe_probe(heard, 0)
    of.own = own or OwnState(word="Running")
    here = Context.at(plan(engine=Engine.WATCH, **changes), record(phase=Phase.RUNNING), of, NOW)
    found = unsaid(here)
    return NOTHING if found is None else (found.reason, obstacles.obstacle_sentence(here, found), found.begins)


SILENT = answer(coordinator=CoordinatorState.REFUSED, states=(), at=NOW + 1)


@pytest.mark.parametrize(
    ("pods", "heard", "why"),
    [
        ([pod(1)], ROLL, "the coordinator, rank 0, has no pod"),
        ([pod(0, terminating=True, name="h")], ROLL, "the coordinator, rank 0 (h), is being deleted"),
        (
            [pod(0, started=False, ready=False, phase=PodPhase.PENDING, name="h")],
            ROLL,
            "the coordinator, rank 0 (h), does not run yet, Pending: ContainerCreating",
        ),
        ([pod(0, ready=False, name="h")], SILENT, "the coordinator, rank 0 (h), is not ready, and does not answer"),
    ],
)
def test_a_coordinator_whose_pod_is_not_at_work_is_named(pods: list[Pod], heard: RollAnswer, why: str) -> None:
    found = unsaid_of(*pods, heard=heard)
    assert found[:2] == ("CoordinatorGone", why)


def test_a_head_that_was_started_again_is_named_with_its_end() -> None:
    head = pod(0, ready=False, restarts=2, last_exit=Exit("ray-head", 137, 0, "OOMKilled", "", NOW))
    found = unsaid_of(head, heard=SILENT)
    assert found[1].endswith(
        ": ray-head ended with exit code 137 (SIGKILL), OOMKilled, started again in its pod 2 times, not ready yet"
    )


def test_a_failure_that_the_controller_reports_of_a_run_that_goes_on_is_reported() -> None:
    found = unsaid_of(own=OwnState(reason="JobFailed", message="exit code 1"))
    assert found[:2] == ("FailureReported", "the Experiment reports JobFailed: exit code 1")
    assert unsaid_of(own=OwnState(OwnVerdict.SUSPENDED, reason="Suspended", message="x")) == NOTHING


def test_a_program_that_has_ended_and_a_controller_that_does_not_say_so() -> None:
    heard = answer(ON, ON, ON, ON, work=DONE, at=NOW + 5)
    found = unsaid_of(heard=heard, own=OwnState(word="Initializing"))
    assert found[:2] == ("StatusIsFalse", "job rj-x SUCCEEDED; the Experiment still reports Initializing")
    assert found[2] == NOW + 5 + FOLLOWED_WITHIN, "a controller has seconds to follow"


def succeeded(rank: int, at: float = NOW - 50, **changes: Any) -> Pod:
    return pod(rank, phase=PodPhase.SUCCEEDED, ready=False, exit=Exit("main", 0, 0, "Completed", "", at), **changes)


ALL_DONE = "all 4 members have succeeded; the status of the Experiment does not show it, so its controller may not run"


@pytest.mark.parametrize("heard", [ROLL, SILENT], ids=["the coordinator answers", "it does not any more"])
def test_an_object_that_does_not_say_that_all_members_have_succeeded_is_contradicted(heard: RollAnswer) -> None:
    found = unsaid_of(*map(succeeded, range(4)), heard=heard)
    assert found == ("StatusIsFalse", ALL_DONE, NOW - 50 + FOLLOWED_WITHIN)


def test_an_end_by_a_clock_that_is_ahead_counts_at_once() -> None:
    found = unsaid_of(*(succeeded(rank, at=NOW + 500) for rank in range(4)))
    assert found[2] < NOW


def test_a_member_that_was_started_again_is_named_until_it_is_ready() -> None:
    again = pod(2, name="w", ready=False, restarts=1, last_exit=Exit("ray-worker", 137, 0, "OOMKilled", "", NOW))
    found = unsaid_of(pod(0), again)
    ended = "ray-worker ended with exit code 137 (SIGKILL), OOMKilled"
    sentence = f"rank 2 (w): {ended}, started again in its pod once, not ready yet"
    assert found[:2] == ("RestartedInPlace", sentence)
    assert unsaid_of(pod(0), pod(2, restarts=1)) == NOTHING
    assert unsaid_of(pod(0), pod(2, restarts=1, ready=False, terminating=True)) == NOTHING


def test_of_many_members_that_were_started_again_the_rest_is_counted() -> None:
    found = unsaid_of(pod(0), *(pod(rank, ready=False, restarts=1) for rank in range(1, 9)))
    assert found[1].count("rank ") == NAMED
    assert found[1].endswith("; and 5 more")


RUNS = Work("rj-x", "RUNNING", "", ended=False)
ALL_SUCCEEDED = [succeeded(rank) for rank in range(4)]


@pytest.mark.parametrize(
    ("pods", "heard", "own", "changes"),
    [
        ([], ROLL, None, {}),
        ([pod(0)], SILENT, None, {}),
        ([pod(0, ready=False)], ROLL, None, {}),
        ([pod(0, terminating=True)], answer(ON, RankState.LEFT, ON, ON), None, {}),
        ([pod(0, terminating=True)], ROLL, None, {"probe": ProbeKind.NONE}),
        ([], answer(ON, ON, ON, ON, work=RUNS), None, {}),
        ([], answer(ON, ON, ON, ON, work=DONE), OwnState(OwnVerdict.SUCCEEDED), {}),
        ([], answer(ON, ON, ON, ON, work=DONE), OwnState(OwnVerdict.FAILED), {}),
        ([], answer(ON, ON, ON, ON, work=DONE), OwnState(OwnVerdict.SUSPENDED), {}),
        (ALL_SUCCEEDED, ROLL, OwnState(OwnVerdict.SUCCEEDED), {}),
        (ALL_SUCCEEDED, ROLL, OwnState(OwnVerdict.SUSPENDED), {}),
        (ALL_SUCCEEDED, ROLL, OwnState(OwnVerdict.ASK_PODS), {}),
        ([*ALL_SUCCEEDED[:3], pod(3)], SILENT, None, {}),
    ],
    ids=[
        "a run that goes on", "a ready coordinator that is silent", "one that is not ready and answers",
        "its run is ending", "it cannot be asked", "its program runs", "its controller reports the success",
        "its controller reports the failure", "it is suspended", "the success of all members is reported",
        "all have succeeded and it is suspended", "pods that decide for themselves", "one member runs on",
    ],
)  # fmt: skip
def test_nothing_is_unsaid(pods: list[Pod], heard: RollAnswer, own: OwnState | None, changes: dict[str, Any]) -> None:
    assert unsaid_of(*pods, heard=heard, own=own, **changes) == NOTHING
