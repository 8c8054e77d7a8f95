"""Clocks: which one runs, when it passes, and what then."""

from typing import Any

import pytest

from muster.state.facts.context import Context
from muster.state.facts.sentences import sentence
from muster.state.policies import deadline
from muster.state.policies.verdicts import Fail, ReadFirst, Restart, Verdict
from muster.state.view.engine_facts import LiveRead
from muster.state.view.roll import RankState
from muster.state.vocabulary.actions import EndRun
from muster.state.vocabulary.group import Group, Role
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName, ClockRule
from muster.state.vocabulary.subject import PODS
from tests.builders import NOW, Clock, answer, clock_ends, clock_rules, plan, pod, record, sure, view, view_of
from tests.state.story import Story

TOTAL, PENDING, STARTING, ASSEMBLY, RUN, PROGRESS, TERMINATING = ClockName
FAIL, RESTART, ALERT = ClockAction
ALL = {TOTAL: Clock(100, FAIL), PENDING: Clock(10, ALERT), ASSEMBLY: Clock(20, ALERT), TERMINATING: Clock(30, ALERT)}
LATELY = LiveRead(NOW + 1000, version=7)


def case(
    *pods: Pod, clocks: dict[ClockName, Clock], now: float, limit: int = 3, look: LiveRead | None = LATELY, **facts: Any
) -> Context:
    seen = view(*pods)
    seen.engine.live_read = look
    return Context.at(plan(clocks=clocks, limit=limit), record(**facts), seen, now)


OLD = pod(0, epoch=1)
STARTED: dict[str, Any] = {"started_at": NOW, "epoch_at": NOW + 1, "assembling_at": NOW + 2, "ending_at": NOW + 3}
T, P, A, E = {TOTAL: NOW + 100}, {PENDING: NOW + 11}, {ASSEMBLY: NOW + 22}, {TERMINATING: NOW + 33}


def passed(here: Context) -> list[ClockRule]:
    return deadline.passed(here, deadline.running(here.plan, here.record))


def judged(here: Context) -> Verdict | None:
    return deadline.judge(here, passed(here))


def alerted(here: Context) -> list[tuple[str, str]]:
    return [(each.reason, deadline.sentence(here, each)) for each in passed(here) if deadline.alerting(here, [each])]


@pytest.mark.parametrize(
    ("facts", "running"),
    [
        ({}, {}),
        (STARTED, T | P | A | E),
        (STARTED | {"scheduled_at": NOW}, T | A | E),
        (STARTED | {"scheduled_at": NOW, "assembled_at": NOW}, T | E),
        (STARTED | {"assembled_at": NOW}, T | P | E),
        (STARTED | {"ending_at": None}, T | P | A),
        (STARTED | {"phase": Phase.SUSPENDED}, E),
        (STARTED | {"phase": Phase.FAILED}, E),
        (STARTED | {"phase": Phase.SUCCEEDED}, E),
        (STARTED | {"phase": Phase.RESTARTING}, T | P | A | E),
    ],
)
def test_each_clock_runs_from_its_time_until_its_end(facts: dict[str, Any], running: dict[ClockName, float]) -> None:
    assert clock_ends(plan(clocks=ALL), record(**facts)) == running


def test_the_starting_clock_runs_from_the_last_node_until_the_first_program() -> None:
    clocks = {STARTING: Clock(600, ALERT)}
    assert clock_ends(plan(clocks=clocks), record(epoch_at=NOW)) == {}
    assert clock_ends(plan(clocks=clocks), record(scheduled_at=NOW)) == {STARTING: NOW + 600}
    assert clock_ends(plan(clocks=clocks), record(scheduled_at=NOW, assembling_at=NOW)) == {}
    creating = [pod(rank, started=False, phase=PodPhase.PENDING, waiting_reason="ContainerCreating") for rank in (0, 1)]
    here = case(*creating, clocks=clocks, now=NOW + 600, scheduled_at=NOW)
    why = f"no program started within 600 s: rank 0 ({creating[0].name}, Pending: ContainerCreating) and 1 more"
    assert alerted(here) == [("StartingDeadlineExceeded", why)]


def test_clocks_run_out_on_the_second_and_in_the_order_of_the_table() -> None:
    assert passed(case(clocks=ALL, now=NOW + 10.9, **STARTED)) == []
    assert passed(case(clocks=ALL, now=NOW + 11, **STARTED)) == [*clock_rules({PENDING: ALL[PENDING]})]
    assert passed(case(clocks=ALL, now=NOW + 1000, **STARTED)) == list(clock_rules(ALL))


def test_a_clock_that_restarts_spends_the_budget() -> None:
    clocks = {PENDING: Clock(10, RESTART)}
    here = case(pod(0), clocks=clocks, now=NOW + 11, epoch=2, **STARTED)
    cause = Cause(2, "PendingDeadlineExceeded", "only 0/4 members got a node within 10 s", NOW + 11)
    assert judged(here) == Restart(cause, counted=True)
    assert sentence(cause) == "PendingDeadlineExceeded: only 0/4 members got a node within 10 s"
    broke = case(clocks=clocks, now=NOW + 11, limit=0, **STARTED)
    verdict = judged(broke)
    assert isinstance(verdict, Fail)
    assert verdict.reason == "BackoffLimitExceeded"


def test_the_total_clock_fails_the_experiment() -> None:
    here = case(clocks={TOTAL: Clock(2.5, FAIL)}, now=NOW + 3, **STARTED)
    assert judged(here) == Fail("DeadlineExceeded", "the experiment did not finish within 2.5 s")


def test_a_clock_that_alerts_hides_no_other() -> None:
    clocks = {PENDING: Clock(1, ALERT), ASSEMBLY: Clock(1, FAIL)}
    verdict = judged(case(clocks=clocks, now=NOW + 50, **STARTED))
    assert isinstance(verdict, Fail)
    assert verdict.reason == "AssemblyDeadlineExceeded"


def test_alerts_name_what_passed_and_ends_nothing() -> None:
    here = case(OLD, pod(1), clocks=ALL | {TOTAL: Clock(100, ALERT)}, now=NOW + 1000, **STARTED)
    assert judged(here) is None
    assert alerted(here) == [
        ("DeadlineExceeded", "the experiment did not finish within 100 s"),
        ("PendingDeadlineExceeded", "only 1/4 members got a node within 10 s"),
        ("AssemblyDeadlineExceeded", "the coordinator did not serve within 20 s"),
        ("TerminatingDeadlineExceeded", f"1 pod of an older epoch ({OLD.name} on node node-0) did not end within 30 s"),
    ]


def test_what_fails_or_restarts_is_no_alert() -> None:
    clocks = {PENDING: Clock(1, FAIL), ASSEMBLY: Clock(1, RESTART)}
    assert alerted(case(clocks=clocks, now=NOW + 50, **STARTED)) == []


@pytest.mark.parametrize(("asks", "said"), [("suspend", ["DeadlineExceeded"]), ("", [])])
def test_a_deadline_that_asks_another_controller_for_the_end_is_an_alert(asks: str, said: list[str]) -> None:
    wanted = plan(engine=Engine.WATCH, clocks={TOTAL: Clock(1, FAIL)}, on_deadline=asks)
    here = Context.at(wanted, record(**STARTED), view(), NOW + 50)
    assert [reason for reason, _ in alerted(here)] == said


def test_a_clock_that_waits_for_nodes_says_nothing_of_ranks_that_ended() -> None:
    here = case(pod(0), pod(1, phase=PodPhase.SUCCEEDED), clocks={PENDING: Clock(10, ALERT)}, now=NOW + 50, **STARTED)
    assert alerted(here) == [("PendingDeadlineExceeded", "only 2/4 members got a node within 10 s")]


def test_restart_means_force_for_pods_that_do_not_end_so_it_is_an_alert_and_no_verdict() -> None:
    here = case(clocks={TERMINATING: Clock(30, RESTART)}, now=NOW + 50, **STARTED)
    assert judged(here) is None
    assert [reason for reason, _ in alerted(here)] == ["TerminatingDeadlineExceeded"]


def test_the_assembly_clock_names_the_missing_ranks() -> None:
    ranks = (RankState.ARRIVED, RankState.MISSING, RankState.ARRIVED, RankState.MISSING)
    seen = view(pod(1), heard=answer(*ranks))
    seen.engine.live_read = LATELY
    here = Context.at(plan(clocks={ASSEMBLY: Clock(20, FAIL)}), record(**STARTED), seen, NOW + 22)
    verdict = judged(here)
    assert isinstance(verdict, Fail)
    absent = sure(plan().member(3))
    assert verdict.message == (
        f"only 2/4 ranks arrived within 20 s; missing rank 1: running, but not registered with the coordinator "
        f"({pod(1).name}); rank 3: no pod yet ({plan().pod_name(absent, 0)})"
    )


def test_the_assembly_clock_counts_no_initializers_as_missing() -> None:
    nodes, data = Group("node", 1, 2, PodSpec(), 0), Group("data", 1, 2, PodSpec(), 2, role=Role.INITIALIZER)
    seen = view(pod(0), pod(1), heard=answer(RankState.ARRIVED, RankState.MISSING))
    here = Context.at(
        plan(clocks={ASSEMBLY: Clock(20, ALERT)}, groups=(nodes, data)), record(**STARTED), seen, NOW + 22
    )
    ((_, sentence),) = alerted(here)
    assert sentence.startswith("only 1/2 ranks arrived within 20 s; missing rank 1 (")


@pytest.mark.parametrize("action", [FAIL, RESTART])
def test_a_clock_ends_nothing_before_a_live_read(action: ClockAction) -> None:
    late = case(pod(0), clocks={PENDING: Clock(10, action)}, now=NOW + 50, look=None, **STARTED)
    assert judged(late) == ReadFirst()
    view_of(late).engine.live_read = LiveRead(NOW + 10.9, version=7)
    assert judged(late) == ReadFirst(), "that was before it ran out"
    view_of(late).engine.live_read = LiveRead(NOW + 11, version=7)
    assert isinstance(judged(late), Fail | Restart)


@pytest.mark.parametrize(
    "clocks", [{}, {TOTAL: Clock(500, FAIL)}, {PENDING: Clock(5, ALERT)}, {TERMINATING: Clock(5, RESTART)}]
)
def test_a_clock_that_ends_nothing_needs_no_live_read(clocks: dict[ClockName, Clock]) -> None:
    assert judged(case(clocks=clocks, now=NOW + 100, look=None, **STARTED)) is None


def test_the_deadline_names_the_ranks_that_ended_and_those_that_did_not() -> None:
    story = Story(plan(size=6, clocks={ClockName.TOTAL: Clock(60, ClockAction.FAIL)})).assemble()
    for rank in (0, 1, 2, 4):
        story.end(rank)
    story.look(60)
    here = [story.plan.pod_name(member, 0) for member in story.plan.members() if member.rank in (3, 5)]
    assert story.kept.reason == "DeadlineExceeded"
    assert story.kept.message == (
        "the experiment did not finish within 60 s: ranks 0-2, 4 ended with exit code 0, "
        f"ranks 3 ({here[0]}, Running), 5 ({here[1]}, Running) did not"
    )


def test_the_assembly_deadline_names_ended_ranks_where_no_roll_call_does() -> None:
    story = Story(plan(size=3, clocks={ClockName.ASSEMBLY: Clock(60, ClockAction.FAIL)})).launch()
    story.start()
    story.look()
    story.end(1)
    story.look(60)
    assert story.kept.reason == "AssemblyDeadlineExceeded"
    assert "within 60 s: rank 1 ended with exit code 0, ranks 0 (" in story.kept.message


HOUR = 3600.0
RUNNING = pod(0)


def asked(
    on_deadline: str = "suspend",
    *,
    clock: ClockName = ClockName.TOTAL,
    action: ClockAction = ClockAction.FAIL,
    now: float = NOW + HOUR,
    phase: Phase = Phase.RUNNING,
    **changes: Any,
) -> tuple[EndRun, ...]:
    clocks = {clock: Clock(HOUR, action)}
    wanted = plan(engine=Engine.WATCH, clocks=clocks, on_deadline=on_deadline, **changes)
    return deadline.end(Context.at(wanted, record(phase=phase, started_at=NOW, ending_at=NOW), view(RUNNING), now))


@pytest.mark.parametrize("way", ["suspend", "delete"])
def test_a_run_is_ended_in_the_way_that_its_annotation_names(way: str) -> None:
    (end,) = asked(way)
    assert (end.how, end.reason, end.pods) == (way, "DeadlineExceeded", ())
    assert end.message.endswith(f"the annotation muster.dev/on-deadline asks to {way} it")


def test_the_pods_of_a_run_without_an_object_are_ended_themselves() -> None:
    (end,) = asked("delete", subject=PODS)
    assert end.pods == (RUNNING,)


@pytest.mark.parametrize(
    "changes",
    [
        {"now": NOW + HOUR - 1},
        {"on_deadline": ""},
        {"action": ClockAction.ALERT},
        {"deleting": True},
        {"phase": Phase.SUSPENDED},
        {"phase": Phase.SUCCEEDED},
        {"phase": Phase.FAILED},
    ],
    ids=["in time", "not asked for", "alert only", "being deleted", "suspended", "succeeded", "failed"],
)
@pytest.mark.parametrize("clock", [ClockName.TOTAL, ClockName.TERMINATING])
def test_nothing_else_is_ended(clock: ClockName, changes: dict[str, Any]) -> None:
    assert asked(clock=clock)
    assert asked(clock=clock, **changes) == ()
