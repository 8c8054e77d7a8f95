"""One frame for every hang: the first detector that finds one fills it, and none does while a rank is at work."""

import pytest
from msgspec.structs import replace

from muster.state.facts import hang
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.hangs import of_collectives
from muster.state.view.progress import HANG_SECONDS, Progress
from muster.state.view.recorder.arrivals import GroupCount
from muster.state.view.recorder.collectives import Behind, Collectives, Late
from muster.state.vocabulary.group import Group, Role
from muster.state.vocabulary.pod import PodPhase, PodSpec
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import NOW, plan, pod, record, sure, view, view_of

AT = GroupCount("0", "default_pg", "nccl", 4, "0-3", 6, "all_reduce", waits=True)
LATE = Late(2, 2, 5, silent=False, waits="")


def gang(*, phase: Phase = Phase.RUNNING, steps: bool = True, collectives: bool = True) -> Context:
    """A gang whose rank 2 is late to a collective and which has made no step for long enough."""
    seen = view(*(pod(rank) for rank in range(4)))
    context = Context.at(plan(), record(phase=phase, scheduled_at=NOW, assembled_at=NOW), seen, NOW + HANG_SECONDS)
    if steps:
        seen.progress = Progress(0, NOW + HANG_SECONDS, NOW, step=9, repeated=True)
    if collectives:
        behind = Behind(AT, 3, (LATE,))
        seen.collectives = Collectives(0, NOW, NOW - 1, 3, 0.0, moved=True, behind=(behind,))
    return context


def test_collectives_go_before_steps_and_name_who_is_late() -> None:
    assert sure(hang.of(gang()))[:3] == (hang.COLLECTIVE_STUCK, (2,), NOW - 1)


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.ASSEMBLING, Phase.RESTARTING])
def test_no_gang_hangs_that_does_not_run(phase: Phase) -> None:
    assert hang.of(gang(phase=phase)) is None


def test_a_late_rank_whose_pod_has_a_cause_of_its_own_is_no_hang_of_a_collective() -> None:
    context = gang()
    view_of(context).change(pod(2), pod(2, terminating=True))
    assert sure(hang.of(context)).reason == hang.HUNG


def test_a_gang_whose_initializers_have_ended_hangs_as_any_other_and_none_does_whose_members_have() -> None:
    nodes = Group("node", 1, 4, PodSpec(), 0, gates=(Gate(GateCondition.COMPLETE, "data"),))
    made = plan(groups=(nodes, Group("data", 1, 1, PodSpec(), 4, role=Role.INITIALIZER)))
    context = replace(gang(collectives=False), plan=made)
    view_of(context).change(None, pod(4, group="data", phase=PodPhase.SUCCEEDED))
    assert sure(hang.of(context)).reason == hang.HUNG
    view_of(context).change(pod(3), pod(3, phase=PodPhase.SUCCEEDED))
    assert hang.of(context) is None


def test_a_silent_rank_of_which_no_count_is_known_has_stopped_reporting() -> None:
    behind = Behind(AT, 3, (Late(1, 1, -1, silent=True, waits=""),))
    seen = Collectives(0, NOW, NOW - 1, 3, 0.0, moved=True, behind=(behind,))
    assert of_collectives(seen).endswith(" ranks wait in all_reduce #6 (default_pg); rank 1 has stopped reporting")


def test_three_collectives_are_named_with_the_processes_of_a_pod_and_the_others_are_counted() -> None:
    late = tuple(Late(1, rank, 5, silent=False, waits="") for rank in (2, 3))
    sentence = of_collectives(Collectives(0, NOW, NOW - 1, 3, 0.0, moved=True, behind=(Behind(AT, 2, late),) * 5))
    assert sentence.count("; processes 2-3 of rank 1 have entered only 5") == 3
    assert sentence.endswith("; and 2 more collectives")
