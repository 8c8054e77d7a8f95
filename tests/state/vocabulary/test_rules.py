"""Success and failure rules, group gates, and the coordinator's own rule of completeness."""

from typing import Any

import pytest

from muster.kinds.jobset.operator import JOBSET
from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.policies import ending, rendezvous, restart, startup
from muster.state.policies.verdicts import Fail, Restart, Succeed
from muster.state.view.roll import RankState
from muster.state.vocabulary.group import Completeness, Coordinator, Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.rules import FailureAction, FailureRule, Gate, GateCondition, Quantifier, SuccessRule
from tests.builders import NOW, answer, plan, pod, record, view

DRIVER = Group("driver", 1, 1, PodSpec(), first_rank=0)
WORKERS = Group("worker", 2, 2, PodSpec(), first_rank=1, first_job=1)


def run(**overrides: Any) -> Plan:
    return plan(groups=(DRIVER, WORKERS), coordinator=None, **overrides)


def member(rank: int, **changes: object) -> Pod:
    if rank == 0:
        return pod(0, group="driver", **changes)
    return pod(rank, group="worker", job=(rank - 1) // 2, index=(rank - 1) % 2, **changes)


def done(rank: int) -> Pod:
    return member(rank, phase=PodPhase.SUCCEEDED, ready=False)


def case(wanted: Plan, *pods: Pod, **facts: object) -> Context:
    return Context.at(wanted, record(phase=Phase.RUNNING, **facts), view(*pods), NOW)


# --- success -----------------------------------------------------------------------------------------------------


def test_the_target_groups_alone_decide_about_success() -> None:
    wanted = run(success=SuccessRule(groups=("driver",)))
    assert ending.judge_success(case(wanted, member(0), done(1), done(2), done(3), done(4))) is None
    assert ending.judge_success(case(wanted, done(0), member(1))) == Succeed(
        "the member of driver succeeded", ending.BY_POLICY
    )


def test_any_job_of_the_target_groups_is_enough() -> None:
    wanted = run(success=SuccessRule(Quantifier.ANY, ("worker",)))
    assert ending.judge_success(case(wanted, done(0), done(1), member(2), done(3), member(4))) is None
    verdict = ending.judge_success(case(wanted, member(0), member(1), done(3), done(4)))
    assert verdict == Succeed("job worker-1 succeeded", ending.BY_POLICY)


# --- failure -----------------------------------------------------------------------------------------------------


def cause(**changes: object) -> Cause:
    facts: dict[str, object] = {"epoch": 0, "reason": "Error", "message": "", "at": NOW, "group": "worker"}
    return Cause(**{**facts, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (FailureRule(FailureAction.FAIL_EXPERIMENT), True),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, groups=("worker",)), True),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, groups=("driver",)), False),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, exit_codes=(3, 4)), True),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, exit_codes=(5,)), False),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, reasons=("Error",)), True),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, reasons=("OOMKilled",)), False),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, messages=("^x$", "NaN")), True),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, messages=("^NaN",)), False),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, disruption=False), True),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, disruption=True), False),
        (FailureRule(FailureAction.FAIL_EXPERIMENT, groups=("worker",), exit_codes=(5,)), False),
    ],
)
def test_a_failure_rule_applies_where_all_its_matchers_hold(rule: FailureRule, matches: bool) -> None:
    verdict = restart.spend(case(run(rules=(rule,))), cause(exit_code=3, message="loss is NaN"))
    assert isinstance(verdict, Fail if matches else Restart)


def test_the_first_matching_rule_applies() -> None:
    spare = FailureRule(FailureAction.RESTART_GANG, exit_codes=(3,), counted=False)
    end = FailureRule(FailureAction.FAIL_EXPERIMENT)
    wanted = run(rules=(spare, end), limit=0)
    assert restart.spend(case(wanted), cause(exit_code=3)) == Restart(cause(exit_code=3), counted=False)
    ended = restart.spend(case(wanted), cause(exit_code=4))
    assert isinstance(ended, Fail)
    assert ended.reason == "FailureRule"


def test_without_a_matching_rule_a_failure_uses_the_restart_budget() -> None:
    wanted = run(rules=(), limit=1)
    assert restart.spend(case(wanted), cause()) == Restart(cause(), counted=True)
    assert isinstance(restart.spend(case(wanted, restarts=1), cause()), Fail)


def test_what_survivors_die_of_is_the_plans_to_say() -> None:
    aborted = Exit("main", 134, 6, "Error", "", NOW)
    crashed = Exit("main", 1, 0, "Error", "", NOW)
    pods = (member(1, exit=aborted, phase=PodPhase.FAILED), member(2, exit=crashed, phase=PodPhase.FAILED))
    jax = restart.first_cause(case(run(survivor_exits=frozenset({134})), *pods))
    jobset = restart.first_cause(case(run(survivor_exits=JOBSET.survivor_exits), *pods))
    assert (jax and jax.rank, jobset and jobset.rank) == (2, 1)


# --- gates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "pods", "opens"),
    [
        (GateCondition.CREATED, (), False),
        (GateCondition.CREATED, (member(0, started=False, ready=False),), True),
        (GateCondition.READY, (member(0, ready=False),), False),
        (GateCondition.READY, (member(0),), True),
        (GateCondition.READY, (done(0),), True),
        (GateCondition.COMPLETE, (member(0),), False),
        (GateCondition.COMPLETE, (done(0),), True),
    ],
)
def test_a_group_waits_for_another_group(condition: GateCondition, pods: tuple[Pod, ...], opens: bool) -> None:
    assert gates.gate_open(case(run(), *pods), Gate(condition, "driver")) is opens


def test_only_the_groups_with_a_closed_gate_wait() -> None:
    waiting = Group("worker", 2, 2, PodSpec(), first_rank=1, gates=(Gate(GateCondition.READY, "driver"),))
    seen = view()
    seen.engine.confirmed, seen.engine.service = 0, True
    wanted = plan(groups=(DRIVER, waiting), coordinator=None)
    (action,) = startup.launch(Context.at(wanted, record(), seen, NOW))
    assert [each.rank for each in action.members] == [0]  # type: ignore[union-attr]
    seen.change(None, member(0))
    (action,) = startup.launch(Context.at(wanted, record(), seen, NOW))
    assert [each.rank for each in action.members] == [1, 2, 3, 4]  # type: ignore[union-attr]


# --- completeness ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "complete"), [(Completeness.PASSED, False), (Completeness.ARRIVED, True)])
def test_the_coordinator_says_when_its_roll_is_complete(rule: Completeness, complete: bool) -> None:
    here = plan(size=2, coordinator=Coordinator(0, 1234, ProbeKind.JAX, complete=rule))
    seen = view(pod(0), pod(1), heard=answer(RankState.ARRIVED, RankState.ARRIVED))
    assert rendezvous.assess(Context.at(here, record(phase=Phase.ASSEMBLING), seen, NOW)).complete is complete


def test_a_patient_coordinator_is_called_stuck_later() -> None:
    seen = view(pod(0), pod(1), heard=answer(RankState.ARRIVED, RankState.MISSING))
    for quiet, stuck in ((6.0, True), (60.0, False)):
        here = plan(size=2, coordinator=Coordinator(0, 1234, ProbeKind.JAX, quiet=quiet))
        assembly = rendezvous.assess(Context.at(here, record(phase=Phase.ASSEMBLING), seen, NOW + 10))
        assert bool(assembly.stuck) is stuck


def test_a_roll_by_address_names_ranks() -> None:
    said = answer(RankState.ARRIVED, identities=("10.0.0.2",), expected=2)
    here = plan(size=2, coordinator=Coordinator(0, 1234, ProbeKind.JAX))
    seen = view(pod(0), pod(1), heard=said)
    assembly = rendezvous.assess(Context.at(here, record(phase=Phase.ASSEMBLING), seen, NOW))
    assert (assembly.arrived, assembly.missing) == (1, (0,))
