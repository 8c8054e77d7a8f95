"""What is to be done next, in words that hold for whoever carries out the run."""

import re
from dataclasses import replace

import pytest

from muster.api.gang import Steps
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import CAUSES, Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.diagnose import next_step
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Exit, Pod
from muster.state.vocabulary.subject import EXPERIMENT, JOBSET, Subject
from tests.builders import NOW, edited, plan, pod, record, view

MUSTERS_OWN = ("Muster creates", "Muster tries", "restart policy", "spec.template", "the experiment's", "cancel")


def said(cause: MissingCause, subject: Subject, engine: Engine) -> str:
    of = replace(plan(), subject=subject, engine=engine)
    return next_step(Context.at(of, record(), view(), NOW), cause, 1, "n7")


@pytest.mark.parametrize(
    ("subject", "engine", "name"),
    [(EXPERIMENT, Engine.NATIVE, "run"), (JOBSET, Engine.NATIVE, "jobset/run"), (JOBSET, Engine.WATCH, "jobset/run")],
)
def test_a_command_names_the_object_as_the_command_line_takes_it(subject: Subject, engine: Engine, name: str) -> None:
    assert f"muster logs {name} -n team --rank 1" in said(Causes.CRASHED, subject, engine)


def test_muster_creates_the_missing_pod_of_its_own_runs_only() -> None:
    assert said(Causes.NOT_CREATED, JOBSET, Engine.NATIVE) == "wait: Muster creates it"
    assert "its own controller" in said(Causes.NOT_CREATED, JOBSET, Engine.WATCH)


MUSTERS = {Causes.REFUSED, Causes.ADMISSION_DENIED}
"""Answers to requests that Muster sends for its own runs only."""


@pytest.mark.parametrize("cause", [each for each in CAUSES if each not in MUSTERS], ids=str)
def test_no_step_of_a_watched_run_relies_on_what_muster_does_for_its_own(cause: MissingCause) -> None:
    step = said(cause, JOBSET, Engine.WATCH)
    assert not [words for words in MUSTERS_OWN if words in step]


def test_a_gang_that_nothing_answers_for_is_not_promised_its_stacks() -> None:
    without = said(Causes.COORDINATOR_FROZEN, EXPERIMENT, Engine.NATIVE)
    assert "muster stacks run -n team (for stacks it needs spec.assist, or py-spy in the image)" in without
    assert without.endswith("then restart the gang (muster restart run -n team)")


@pytest.mark.parametrize("cause", [Causes.COORDINATOR_FROZEN, Causes.HEARTBEAT_LOST, Causes.HUNG])
def test_a_gang_with_assist_or_with_reported_steps_is(cause: MissingCause) -> None:
    (group,) = plan().groups
    assisted = replace(plan(), groups=(replace(group, pod=replace(group.pod, assist=True)),))
    reported = record(steps=Steps(0, 7, "", 2, 0, NOW))
    for context in (Context.at(assisted, record(), view(), NOW), Context.at(plan(), reported, view(), NOW)):
        assert "muster stacks run -n team;" in next_step(context, cause, 1, "n7")


def test_the_restart_of_another_kind_has_no_command() -> None:
    assert "restart the gang or cancel it" in said(Causes.HUNG, JOBSET, Engine.NATIVE)
    assert "restart or end it by its own controller" in said(Causes.HUNG, JOBSET, Engine.WATCH)


def test_the_log_that_is_read_is_that_of_the_container_that_ended_and_no_step_names_a_field_of_another_kind() -> None:
    again = pod(1, restarts=1, ready=False, last_exit=Exit("proxy", 1, 0, "Error", "", NOW))
    step = next_step(Context.at(plan(), record(), view(again), NOW), Causes.RESTARTED_IN_PLACE, 1, "")
    assert f"kubectl logs -n team {again.name} -c proxy --previous;" in step
    assert not [each for each in CAUSES if "spec." in said(each, JOBSET, Engine.NATIVE).replace("spec.assist", "")]


def test_a_container_beside_the_program_that_never_ran_has_a_step_that_needs_no_log() -> None:
    for cause in (Causes.INIT_CONTAINER_FAILS, Causes.SIDECAR_FAILS):
        assert said(cause, JOBSET, Engine.WATCH).endswith("; if it never ran, create what the message names")


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("seen", [(), (pod(1, node="", scheduled=False),), (pod(1, node="n7", restarts=1),)])
def test_no_step_has_a_placeholder(seen: tuple[Pod, ...], chosen: bool, engine: Engine) -> None:
    of = edited(plan(engine=engine), chosen=chosen)
    context = Context.at(of, record(), view(*seen), NOW)
    for cause in CAUSES:
        step = next_step(context, cause, 1, "")
        assert not re.search(r"\b(NAME|NAMESPACE|POD|CONTAINER|RANK|NODE)\b", step), step


def test_a_step_about_an_unknown_node_or_container_shows_how_to_find_it() -> None:
    bare = pod(1, node="", restarts=1, ready=False)
    context = Context.at(plan(), record(), view(bare), NOW)
    step = next_step(context, Causes.RESTARTED_IN_PLACE, 1, "")
    assert step.startswith(f"read its previous log: kubectl logs -n team {bare.name} --previous;")
    assert next_step(context, Causes.TERMINATING, 1, "").endswith(f"kubectl get pod -n team {bare.name} -o wide")
