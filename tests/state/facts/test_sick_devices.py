"""An Unhealthy device of a member that is stuck or has ended is evidence of its cause, and names resource and id."""

from msgspec.structs import replace

from muster.state.facts.context import Context
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.failure_cause import cause_of
from muster.state.facts.incidents.signs import signs_of
from muster.state.facts.nodes.suspects import of_node
from muster.state.facts.sentences import sentence
from muster.state.vocabulary.pod import Exit, PodPhase
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, plan, pod, record, view

DEVICE = "nvidia.com/gpu GPU-8f2a"
SAID = f"; its device {DEVICE} was reported as Unhealthy"
ENDED = Exit("main", 134, 0, "Error", "CUDA error: uncorrectable ECC error encountered", NOW)


def ended(**more: str) -> Context:
    failed = pod(1, phase=PodPhase.FAILED, exit=ENDED, node="n7", unhealthy=DEVICE, **more)
    return Context.at(plan(), record(phase=Phase.RUNNING), view(pod(0), failed), NOW)


def test_the_cause_of_an_end_names_the_device_as_a_field_and_in_its_sentence() -> None:
    context = ended()
    cause = cause_of(context, context.tally.members[1])
    assert cause.device == DEVICE
    assert sentence(cause).endswith(SAID)
    assert sentence(replace(cause, device="")).endswith("encountered")


def test_a_finding_names_it_and_members_with_sound_devices_are_another_finding() -> None:
    away = [pod(rank, started=False, phase=PodPhase.PENDING, waiting_reason="CrashLoopBackOff") for rank in range(4)]
    away[2] = replace(away[2], unhealthy=DEVICE)
    context = Context.at(plan(), record(phase=Phase.ASSEMBLING), view(*away), NOW)
    found = {each.ranks: each for each in diagnose(context)}
    assert set(found) == {(0, 1, 3), (2,)}
    assert found[(2,)].what.endswith(SAID)
    assert found[(2,)].evidence.endswith(SAID)
    assert "Unhealthy" not in found[(0, 1, 3)].sentence


def test_an_end_beside_a_sick_device_is_the_nodes_but_not_where_the_platform_took_the_pod() -> None:
    context = ended()
    assert of_node(cause_of(context, context.tally.members[1]))
    preempted = ended(disruption="PreemptionByScheduler")
    assert not of_node(cause_of(preempted, preempted.tally.members[1]))


def test_a_crash_beside_a_sick_device_is_no_weak_sign() -> None:
    context = ended()
    for device, weak in ((DEVICE, False), ("", True)):
        cause = replace(cause_of(context, context.tally.members[1]), device=device)
        again = record(phase=Phase.RESTARTING, epoch=1, cause=cause)
        (sign,) = signs_of(Context.at(plan(), again, view(), NOW))
        assert (sign.kind, sign.subject, sign.weak) == ("node", "n7", weak)


def test_a_hang_beside_a_sick_device_is_no_weak_sign() -> None:
    hung = Condition(ConditionType.STUCK, True, "Hung", "no step", 1, NOW - 60)
    kept = record(phase=Phase.RUNNING, conditions=(hung,), assembled_at=NOW - 600)
    seen = view(pod(0, node="n7", unhealthy=DEVICE))
    (sign,) = (each for each in signs_of(Context.at(plan(size=1), kept, seen, NOW)) if each.kind == "node")
    assert not sign.weak
