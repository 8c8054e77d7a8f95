"""Success: every member has ended well, or what the success rule asks for."""

from dataclasses import replace

import pytest

from muster.state.decide.machine import decide
from muster.state.facts.context import Context
from muster.state.policies import ending
from muster.state.policies.verdicts import Succeed
from muster.state.vocabulary.actions import StopPods
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import PodPhase, PodSpec
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import Quantifier, SuccessRule
from tests.builders import NOW, plan, pod, record, view


@pytest.mark.parametrize(
    ("size", "ended", "message"),
    [
        (0, 0, "no members were asked for"),
        (1, 1, "the member succeeded"),
        (2, 2, "all 2 members succeeded"),
        (4, 4, "all 4 members succeeded"),
        (4, 3, None),
        (1, 0, None),
    ],
)
def test_all_must_have_ended_well(size: int, ended: int, message: str | None) -> None:
    pods = [pod(rank, phase=PodPhase.SUCCEEDED if rank < ended else PodPhase.RUNNING) for rank in range(size)]
    verdict = ending.judge_success(Context.at(plan(size=size), record(), view(*pods), NOW))
    assert verdict == (Succeed(message) if message else None)


def test_members_of_another_epoch_do_not_count() -> None:
    pods = [pod(rank, epoch=0, phase=PodPhase.SUCCEEDED) for rank in range(4)]
    assert ending.judge_success(Context.at(plan(), record(epoch=1), view(*pods), NOW)) is None


# --- rules that need fewer than every job ------------------------------------------------------------------------


def groups() -> tuple[Group, ...]:
    """Two jobs ``a`` of two members each, and one member ``b``."""
    return (Group("a", 2, 2, PodSpec(), 0), Group("b", 1, 1, PodSpec(), 4))


def ended(*ranks: int) -> Context:
    where = {0: ("a", 0), 1: ("a", 0), 2: ("a", 1), 3: ("a", 1), 4: ("b", 0)}
    pods = [pod(rank, group=where[rank][0], job=where[rank][1], phase=PodPhase.SUCCEEDED) for rank in ranks]
    return Context.at(plan(groups=groups(), coordinator=None), record(), view(*pods), NOW)


@pytest.mark.parametrize(
    ("rule", "ranks", "message"),
    [
        (SuccessRule(Quantifier.ALL, ("b",)), (4,), "the member of b succeeded"),
        (SuccessRule(Quantifier.ALL, ("a",)), (0, 1, 2), None),
        (SuccessRule(Quantifier.ALL, ("a",)), (0, 1, 2, 3), "all 4 members of a succeeded"),
        (SuccessRule(Quantifier.ANY), (0, 2), None),
        (SuccessRule(Quantifier.ANY), (2, 3), "job a-1 succeeded"),
        (SuccessRule(Quantifier.ANY), (4,), "job b-0 succeeded"),
        (SuccessRule(Quantifier.ANY, ("a",)), (4,), None),
    ],
)
def test_a_success_policy_asks_for_its_targets_only(
    rule: SuccessRule, ranks: tuple[int, ...], message: str | None
) -> None:
    here = ended(*ranks)
    verdict = ending.judge_success(Context.at(replace(here.plan, success=rule), here.record, here.view, NOW))
    assert verdict == (Succeed(message, ending.BY_POLICY) if message else None)


def test_the_rest_is_stopped_and_keeps_its_logs() -> None:
    run = replace(plan(groups=groups(), coordinator=None), success=SuccessRule(Quantifier.ANY, ("b",)))
    pods = [pod(rank, group="a", job=rank // 2) for rank in range(4)]
    seen = view(*pods, pod(4, group="b", phase=PodPhase.SUCCEEDED, ready=False))
    decision = decide(run, record(phase=Phase.RUNNING, size=5), seen, NOW)
    assert (decision.record.phase, decision.record.reason) == (Phase.SUCCEEDED, "SuccessPolicyMet")
    assert decision.record.ready == 5
    assert decision.actions == (StopPods(tuple(pods), "the experiment has ended"),)
