"""A hint on a gang that makes no step for longer than usual, as the daemon reads it."""

from typing import Any

import pytest

from muster.api.gang import Steps
from muster.api.status import ExperimentStatus
from muster.rollcall.make import summary
from muster.state.facts.context import Context
from muster.state.summary import quiet
from muster.state.view.own import OwnState
from muster.state.view.progress import StepReport
from muster.state.vocabulary.group import Group, ProbeKind, Role
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Exit, Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import NOW, plan, pod, record, view, worker_group
from tests.state.summary.test_goodput import Timed, working


def hint(story: Timed) -> str:
    return summary(Context.at(story.plan, story.kept, story.view, story.now)).hint


def running(steps: float = 60) -> Timed:
    """A gang that makes a step a second."""
    return working(steps)


def test_steps_that_come_as_usual_are_no_hint() -> None:
    story = running()
    assert hint(story) == ""
    story.stand(quiet.LEAST - 6)
    assert hint(story) == ""


def test_no_step_for_longer_than_usual_is_a_hint_and_no_verdict() -> None:
    story = running()
    story.stand(51)
    assert story.condition(ConditionType.STUCK)[0] is False
    assert hint(story) == "no rank has made a step for 51s (usual: 1 s)"


def test_a_gang_that_is_stuck_has_its_sentence_and_no_hint() -> None:
    story = running()
    story.hang()
    assert hint(story) == ""


@pytest.mark.parametrize("ends", [True, False])
def test_a_pause_that_is_announced_and_a_gang_that_ends_are_not_quiet(ends: bool) -> None:
    story = running()
    if ends:
        story.end(1, 0)
        story.look()
    else:
        story.pausing = 300.0
    story.stand(51)
    assert hint(story) == ""


def test_silence_of_the_coordinator_is_no_silence_of_the_ranks() -> None:
    story = running()
    story.passes(51)
    story.look()
    assert hint(story) == ""


RAN = {"phase": Phase.RUNNING, "completed": "4"}
FETCHED = pod(4, group="dataset", phase=PodPhase.SUCCEEDED, ready=False, exit=Exit("fetch", 0, 0, "", "", NOW))


def trainjob(*pods: Pod, deleting: bool = False, **facts: Any) -> str:
    """The hint on a TrainJob whose initializer has ended, and whose program reported five steps and then none."""
    after = Gate(GateCondition.COMPLETE, "dataset")
    groups = (worker_group(4, gates=(after,)), Group("dataset", 1, 1, PodSpec(), 4, role=Role.INITIALIZER))
    of = plan(groups=groups, probe=ProbeKind.NONE, engine=Engine.WATCH, deleting=deleting)
    seen, known = view(*pods, FETCHED), record(**RAN | facts)
    seen.remember(of, known, NOW)
    for step in range(5):
        seen.own = OwnState(report=StepReport(0, step, 0), reported=f"{step}")
        seen.hear(known, NOW + step, NOW)
    seen.hear(known, NOW + 4 + 55, NOW)
    return summary(Context.at(of, known, seen, NOW + 4 + 55)).hint


def test_a_trainjob_that_reports_no_step_to_its_trainer_is_quiet() -> None:
    assert trainjob(*map(pod, range(4))) == "no rank has made a step for 55s (usual: 1 s)"


@pytest.mark.parametrize(
    ("last", "facts"),
    [
        (pod(3, phase=PodPhase.FAILED, ready=False, exit=Exit("main", 1, 0, "Error", "", NOW)), {}),
        (pod(3, phase=PodPhase.SUCCEEDED, ready=False, exit=Exit("main", 0, 0, "", "", NOW)), {}),
        (pod(3, terminating=True), {}),
        (pod(3), {"deleting": True}),
        (pod(3), {"phase": Phase.SUSPENDED}),
        (pod(3), {"phase": Phase.SUCCEEDED}),
    ],
    ids=["failed", "ended", "going", "deleted", "suspended", "over"],
)
def test_a_watched_run_that_is_over_or_suspended_is_not_quiet(last: Pod, facts: dict[str, Any]) -> None:
    assert trainjob(*map(pod, range(3)), last, **facts) == ""


@pytest.mark.parametrize(
    ("fields", "hint_of_it"),
    [
        ({}, "no rank has made a step for 105s (usual: 4 s)"),
        ({"phase": Phase.ASSEMBLING}, ""),
        ({"epoch": 3}, ""),
        ({"steps": None}, ""),
        ({"steps": Steps(2, 9, "0.25", 4, 0, 0.0)}, ""),
        ({"steps": Steps(2, 9, "0.25", 4, 0, NOW - 104)}, ""),
        ({"steps": Steps(2, 9, "0.01", 4, 0, NOW - 499)}, ""),
        ({"steps": Steps(2, 9, "0.01", 4, 0, NOW - 500)}, "no rank has made a step for 8m20s (usual: 100s)"),
        ({"steps": Steps(2, 9, "", 4, 0, NOW - 105)}, "no rank has made a step for 105s"),
    ],
    ids=[
        "no step", "not at work", "another epoch", "no steps", "no time", "a status may be late", "usual", "slow steps",
        "one step",
    ],
)  # fmt: skip
def test_a_status_hints_at_steps_that_are_late(fields: dict[str, Any], hint_of_it: str) -> None:
    usual = {"phase": Phase.RUNNING, "epoch": 2, "steps": Steps(2, 9, "0.25", 4, 0, NOW - 105)}
    assert quiet.of_steps(ExperimentStatus(**{**usual, **fields}), NOW) == hint_of_it
