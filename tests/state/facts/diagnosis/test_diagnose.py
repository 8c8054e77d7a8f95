"""A finding for each cause, grouped by what members share, in an order that does not depend on time."""

from typing import Any

import pytest

from muster.api.causes import Blocked
from muster.api.gang import RollCall
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.diagnosis.hangs import diagnoses
from muster.state.view.progress import BEHIND_SECONDS, HANG_SECONDS, StepReport
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.state.vocabulary.record import RANKS_ENDED, Phase, Record
from tests.builders import NOW, answer, plan, pod, record, view, view_of
from tests.state.view.test_stage import CRASHED, END, NODELESS, WAITING

ARRIVED, MISSING = RankState.ARRIVED, RankState.MISSING
ASSEMBLING = record(phase=Phase.ASSEMBLING, scheduled_at=NOW, assembling_at=NOW, size=16)
NOT_READY = {"cut_off": True, "ready": False}
PULL = WAITING | {"waiting_reason": "ImagePullBackOff", "waiting_message": 'Back-off pulling image "registry/x:1"'}


def context(
    *pods: Pod, wanted: Plan | None = None, now: Record = ASSEMBLING, heard: RollAnswer | None = None
) -> Context:
    return Context.at(wanted or plan(size=16), now, view(*pods, heard=heard), NOW)


def test_members_of_one_node_are_one_finding() -> None:
    pods = [pod(rank, node="n7", **NOT_READY) if rank >= 8 else pod(rank) for rank in range(16)]
    (found,) = diagnose(context(*pods, heard=answer(*[RankState.CONNECTED] * 16)))
    assert found.sentence == "ranks 8-15: node n7 is not ready"
    assert (found.cause, found.node, found.count) == (Causes.NODE_NOT_READY, "n7", 8)


def test_members_of_one_image_are_one_finding_whatever_the_kubelet_says_now() -> None:
    pods = [pod(rank) for rank in range(16)]
    pods[3], pods[9] = pod(3, **PULL), pod(9, **PULL | {"waiting_reason": "ErrImagePull"})
    (found,) = diagnose(context(*pods, heard=answer(*(MISSING if rank in (3, 9) else ARRIVED for rank in range(16)))))
    assert found.sentence == "ranks 3, 9: the image registry/x:1 cannot be pulled"
    assert 'Back-off pulling image "registry/x:1"' in found.evidence


def test_the_most_decisive_cause_comes_first_and_the_order_does_not_depend_on_the_order_of_events() -> None:
    pods = [pod(0), pod(1, **CRASHED), pod(2, **NODELESS), pod(3, node="n7", **NOT_READY)]
    sentences = set()
    for order in (pods, pods[::-1], [pods[2], pods[0], pods[3], pods[1]]):
        found = diagnose(context(*order, wanted=plan(), heard=answer(*[MISSING] * 4)))
        sentences.add("; ".join(each.sentence for each in found))
    (only,) = sentences
    assert only.startswith("rank 3: node n7 is not ready; rank 1: ended with exit code 1; ")


def test_nothing_is_found_where_every_member_is_there_or_none_is_wanted() -> None:
    pods = [pod(rank) for rank in range(4)]
    heard = answer(*[RankState.CONNECTED] * 4)
    assert diagnose(context(*pods, wanted=plan(), heard=heard)) == ()
    assert diagnose(context(wanted=plan(), now=record(phase=Phase.SUSPENDED))) == ()
    assert diagnose(context(wanted=plan(), now=record(phase=Phase.SUCCEEDED))) == ()


def test_every_member_of_a_large_gang_is_counted() -> None:
    wanted = plan(size=10_000)
    pods = [pod(rank, **PULL) for rank in range(10_000)]
    (found,) = diagnose(context(*pods, wanted=wanted))
    assert (found.count, found.who) == (10_000, "ranks 0-9999")


def test_a_rank_that_is_notable_twice_is_in_one_finding() -> None:
    pods = [pod(0), pod(1), pod(2, ready=False, restarts=2), pod(3)]
    (found,) = diagnose(context(*pods, wanted=plan(), heard=answer(ARRIVED, ARRIVED, MISSING, ARRIVED)))
    assert (found.cause, found.ranks) == (Causes.RESTARTED_IN_PLACE, (2,))


def test_a_rank_that_was_started_again_and_is_ready_is_not_named() -> None:
    pods = [pod(0), pod(1), pod(2, restarts=2), pod(3)]
    assert diagnose(context(*pods, wanted=plan(), heard=answer(*[RankState.CONNECTED] * 4))) == ()


def test_a_rank_that_has_failed_and_is_given_up_is_not_named() -> None:
    now = record(phase=Phase.RUNNING, scheduled_at=NOW, assembled_at=NOW, ignored="1-2")
    pods = [pod(0), pod(1, **CRASHED), pod(2, **WAITING), pod(3)]
    seen = context(*pods, wanted=plan(), now=now, heard=answer(*[RankState.CONNECTED] * 4))
    assert {rank for each in diagnose(seen) for rank in each.ranks} == {1, 2}
    view_of(seen).remember(seen.plan, now, NOW)
    assert diagnose(seen) == ()


def test_a_rank_that_is_done_is_named_only_where_ended_ranks_block_the_others() -> None:
    ended = {"phase": PodPhase.SUCCEEDED, "ready": False, "exit": END}
    pods = [pod(0), pod(2), pod(3, **ended)]
    for blocked, ranks in ((None, ()), (Blocked("Queued", NOW), ()), (Blocked(RANKS_ENDED, NOW), (1, 3))):
        now = record(phase=Phase.RUNNING, scheduled_at=NOW, assembled_at=NOW, completed="1", blocked=blocked)
        seen = context(*pods, wanted=plan(), now=now, heard=answer(*[RankState.CONNECTED] * 4))
        view_of(seen).remember(seen.plan, now, NOW)
        found = diagnose(seen)
        assert [rank for each in found for rank in each.ranks] == list(ranks)
        assert {each.cause for each in found} <= {Causes.ENDED}


def test_a_rank_that_is_done_and_has_no_pod_is_not_named_beside_one_that_is_lost() -> None:
    now = record(phase=Phase.RUNNING, scheduled_at=NOW, assembled_at=NOW, completed="1")
    seen = context(pod(0), pod(3), wanted=plan(), now=now, heard=answer(*[RankState.CONNECTED] * 4))
    view_of(seen).remember(seen.plan, now, NOW)
    assert [(each.cause, each.ranks) for each in diagnose(seen)] == [(Causes.LOST, (2,))]


def test_until_the_coordinator_is_asked_the_recorded_roll_names_the_missing_ranks() -> None:
    pods = [pod(rank) for rank in range(4)]
    for roll, ranks in ((RollCall(4, 2, (1, 3)), (1, 3)), (None, ())):
        now = record(phase=Phase.RUNNING, scheduled_at=NOW, assembled_at=NOW, roll=roll)
        found = diagnose(context(*pods, wanted=plan(), now=now))
        assert [rank for each in found for rank in each.ranks] == list(ranks)


def counted(joined: int, *pods: Pod, **heard: Any) -> tuple[Finding, ...]:
    """Of four processes, where the store counts that many."""
    store = {"joined": joined, "partial": "the store does not name them", "detail": f"{joined}/4 processes", **heard}
    return diagnose(context(*pods, wanted=plan(probe=ProbeKind.TORCH), heard=answer(ARRIVED, expected=None, **store)))


def test_a_member_that_is_missing_by_count_alone_is_among_those_that_run() -> None:
    (found,) = counted(3, *map(pod, range(4)))
    assert found.sentence == "1 rank: 1 of 4 has not arrived; the store does not show which of ranks 1-3"
    assert (found.cause, found.count, found.ranks) == (Causes.NOT_ARRIVED, 1, ())
    assert found.evidence == "3/4 processes; the store does not name them"


def test_a_member_with_a_cause_of_its_own_is_not_missing_by_count_as_well() -> None:
    (found,) = counted(3, pod(0), pod(1), pod(2), pod(3, **PULL))
    assert (found.cause, found.ranks) == (Causes.IMAGE_PULL, (3,))
    (_, more) = counted(2, pod(0), pod(1), pod(2), pod(3, **PULL))
    assert more.sentence == "1 rank: 1 of 4 has not arrived; the store does not show which of ranks 1-2"
    (_, both) = counted(1, pod(0), pod(1), pod(2), pod(3, **PULL))
    assert both.sentence == "ranks 1-2: 2 of 4 have not arrived; by their number ranks 1-2"


def test_nothing_is_missing_by_count_from_a_full_or_a_silent_store() -> None:
    assert counted(4, *map(pod, range(4))) == ()
    silent = counted(3, *map(pod, range(4)), coordinator=CoordinatorState.TIMEOUT)
    assert not any("does not show which" in each.what for each in silent)


def reporting(*steps: int, seconds: float = HANG_SECONDS) -> Context:
    """A running gang whose ranks report these steps, unchanged for that time."""
    reports = tuple(StepReport(rank, step, 5, 100.0) for rank, step in enumerate(steps))
    connected = (RankState.CONNECTED,) * 4
    running = record(phase=Phase.RUNNING, scheduled_at=NOW, assembled_at=NOW)
    seen = view(*(pod(rank) for rank in range(4)), heard=answer(*connected, reports=reports))
    context = Context.at(plan(), running, seen, NOW + seconds)
    view_of(context).observe_probe(answer(*connected, reports=reports, at=NOW + seconds), 0)
    return context


@pytest.mark.parametrize(
    ("steps", "most", "found"),
    [
        ((9, 9, 7, 9), 4, {2: "stopped at step 7"}),
        ((9, 8, 7, 9), 1, {1: "stopped at step 8"}),
        ((9, 9, 9, 9), 4, dict.fromkeys(range(4), "stopped at step 9")),
        ((9, 9, 9, 9), 2, dict.fromkeys(range(2), "stopped at step 9")),
    ],
)
def test_the_ranks_behind_hold_the_gang_up_or_else_all_that_report(
    steps: tuple[int, ...], most: int, found: dict[int, str]
) -> None:
    hanging = diagnoses(reporting(*steps), most)
    assert {rank: each.what for rank, each in hanging.items()} == found
    for each in hanging.values():
        assert each.cause is Causes.HUNG
        assert each.evidence.startswith("no step since ")
        assert each.evidence.endswith("Z (last step 9)")


def test_a_gang_that_gets_on_or_does_not_report_is_held_up_by_no_member() -> None:
    assert diagnoses(reporting(9, 9, 7, 9, seconds=BEHIND_SECONDS - 1), 4) == {}
    assert diagnoses(reporting(), 4) == {}
