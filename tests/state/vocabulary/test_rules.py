"""The rules of a plan: which failure rule applies, what survivors die of, and when a roll is complete."""

import pytest

from muster.kinds.jobset.operator import JOBSET
from muster.state.facts.context import Context
from muster.state.policies import rendezvous, restart
from muster.state.policies.verdicts import Fail, Restart
from muster.state.view.roll import RankState
from muster.state.vocabulary.group import Completeness, Coordinator, ProbeKind
from muster.state.vocabulary.pod import Exit, PodPhase
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.rules import FailureAction, FailureRule
from tests.builders import NOW, answer, plan, pod, record, sure, view


def test_the_first_matching_rule_applies_and_one_that_does_not_count_needs_no_budget() -> None:
    spare = FailureRule(FailureAction.RESTART_GANG, exit_codes=(3,), counted=False)
    wanted = plan(rules=(spare, FailureRule(FailureAction.FAIL_EXPERIMENT)), limit=0)
    here = Context.at(wanted, record(phase=Phase.RUNNING), view(), NOW)
    spared = Cause(0, "Error", exit_code=3)
    assert restart.spend(here, spared) == Restart(spared, counted=False)
    ended = restart.spend(here, Cause(0, "Error", exit_code=4))
    assert isinstance(ended, Fail)
    assert ended.reason == "FailureRule"


@pytest.mark.parametrize(("exits", "rank"), [(frozenset({134}), 2), (JOBSET.survivor_exits, 1)])
def test_what_survivors_die_of_is_the_plans_to_say(exits: frozenset[int], rank: int) -> None:
    ends = {1: Exit("main", 134, 6, "Error", "", NOW), 2: Exit("main", 1, 0, "Error", "", NOW)}
    pods = (pod(each, phase=PodPhase.FAILED, exit=end) for each, end in ends.items())
    cause = restart.first_cause(Context.at(plan(survivor_exits=exits), record(phase=Phase.RUNNING), view(*pods), NOW))
    assert sure(cause).rank == rank


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
