"""The rules of an experiment in a queue, beyond the recorded lives."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from muster.api.errors import MusterError
from muster.api.manifest.experiment import parse_experiment
from muster.api.names import FINALIZER_QUOTA, PRIORITY_LABEL, QUEUE_LABEL
from muster.kinds.declaration import PlanError
from muster.kinds.experiments import plan_of
from muster.state.vocabulary.plan import Queue
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from muster.state.vocabulary.workload import Workload, WorkloadCondition
from tests.builders import Clock, clock_ends, sure
from tests.state.queueing.replay import QueueStory, queued_plan, written

STUCK = ConditionType.STUCK
SINCE = "1970-01-12T13:46:40Z"


def conditions(*true: str, **others: tuple[str, str, str]) -> tuple[WorkloadCondition, ...]:
    said = [WorkloadCondition(kind, "True", kind, "", SINCE) for kind in true]
    return (*said, *(WorkloadCondition(kind, *each, SINCE) for kind, each in others.items()))


def workload(name: str = "own", *true: str, **others: tuple[str, str, str]) -> Workload:
    held = (FINALIZER_QUOTA,)
    return Workload(f"uid-{name}", name, "team", "uid-1", 1, 1, "q", True, False, held, conditions(*true, **others))


ADMITTED = workload("own", "QuotaReserved", "Admitted")


def at_work(**overrides: Any) -> QueueStory:
    one = QueueStory(queued_plan(**overrides))
    one.turn()
    one.see(ADMITTED)
    one.turn(1)
    assert one.kept.phase is Phase.RUNNING
    return one


def test_only_the_total_clock_runs_in_the_queue() -> None:
    clocks = {name: Clock(10, ClockAction.RESTART) for name in (ClockName.PENDING, ClockName.STARTING)}
    one = QueueStory(queued_plan(clocks={**clocks, ClockName.TOTAL: Clock(100, ClockAction.FAIL)}))
    one.turn()
    assert list(clock_ends(one.plan, one.kept)) == [ClockName.TOTAL]
    assert one.kept.deadline is not None
    one.turn(99)
    assert (one.kept.phase, one.kept.restarts) == (Phase.QUEUED, 0)
    one.turn(2)
    assert (one.kept.phase, one.kept.reason) == (Phase.FAILED, "DeadlineExceeded")


def test_a_workload_that_kueue_does_not_take_up_is_stuck_after_a_minute() -> None:
    one = QueueStory(queued_plan())
    one.turn()
    one.see(workload())
    one.turn(59)
    assert one.condition(STUCK) == (False, "NotStuck")
    one.turn(2)
    assert one.condition(STUCK) == (True, "QueueSilent")
    assert "see whether Kueue's controller runs" in one.kept.message


def test_what_kueue_said_a_while_ago_has_its_time() -> None:
    """Kueue that is dead leaves 'the queue is full' as it was, and one that lives writes nothing while that is so."""
    one = QueueStory(queued_plan())
    one.turn()
    full = workload("own", QuotaReserved=("False", "WaitingForQuota", "insufficient unused quota, 4 more needed"))
    one.see(structs.replace(full, kueue_wrote=one.now))
    one.turn(59)
    assert one.kept.message == "queued in q: insufficient unused quota, 4 more needed"
    one.turn(6)
    said = "; by its managedFields Kueue last wrote the Workload's status at 1970-01-12T13:46:40Z"
    assert one.kept.message == f"queued in q: insufficient unused quota, 4 more needed{said}"
    one.turn(100_000)
    assert (one.condition(STUCK), one.kept.reason) == ((False, "NotStuck"), "Queued")


def test_without_kueue_s_api_nothing_starts_and_what_runs_goes_on() -> None:
    waiting = QueueStory(queued_plan())
    waiting.view.queue_problem = "the API server has no Workloads"
    assert waiting.turn() == ()
    assert (waiting.kept.phase, waiting.condition(STUCK)) == (Phase.QUEUED, (True, "QueueUnavailable"))
    assert waiting.kept.message == "the API server has no Workloads"
    assert waiting.told == ["Queued", "Stuck"]
    running = at_work()
    running.view.queue_problem = "the API server has no Workloads"
    running.turn(100)
    assert (running.kept.phase, running.running) == (Phase.RUNNING, 4)


def test_a_restart_without_kueue_s_api_waits_in_the_queue() -> None:
    one = at_work()
    one.end(1, 1)
    one.turn()
    one.view.queue_problem = "gone"
    one.turn(10)
    assert (one.kept.phase, one.kept.epoch, one.running) == (Phase.QUEUED, 1, 0)
    assert (one.kept.restarts, one.kept.disruptions) == (1, 0), "one epoch ended, for one reason"
    one.view.queue_problem = ""
    one.turn(1)
    assert (one.kept.phase, one.kept.epoch) == (Phase.RUNNING, 1)


def test_removing_the_label_is_no_way_around_the_quota() -> None:
    one = QueueStory(queued_plan())
    one.turn()
    one.see(workload("own", QuotaReserved=("False", "WaitingForQuota", "4 more needed")))
    one.plan = replace(one.plan, queue=None)
    one.turn(1)
    assert (one.kept.phase, one.running) == (Phase.QUEUED, 0)
    one.view.workloads.clear()
    one.turn(1)
    assert one.running == 4


def test_a_label_that_is_set_on_a_running_experiment_stops_it_until_it_is_admitted() -> None:
    one = QueueStory(queued_plan(queue=None))
    one.turn()
    one.turn(1)
    assert one.running == 4
    one.plan = queued_plan()
    assert one.turn(1) == ("EnsureWorkload",)
    assert (one.kept.phase, one.running, one.kept.restarts) == (Phase.QUEUED, 0, 0)


def test_a_suspension_deletes_the_workload_when_the_pods_are_gone() -> None:
    one = at_work()
    one.lag = True
    one.plan = queued_plan(suspend=True)
    assert one.turn(1) == ()
    one.lag = False
    assert one.turn(1) == ("DeleteWorkload",)
    one.see(structs.replace(ADMITTED, deleting=True))
    assert one.turn(1) == ("ReleaseWorkload",)
    one.see(None, ADMITTED.uid)
    one.plan = queued_plan()
    one.asked.clear()
    assert one.turn(1) == ("EnsureWorkload",)
    assert (one.kept.phase, one.kept.epoch) == (Phase.QUEUED, 1)


def test_other_pod_sets_need_another_workload() -> None:
    one = at_work()
    one.plan = queued_plan("larger")
    assert one.turn(1) == ("DeleteWorkload",)
    assert sure(one.kept.cause).reason == "WorkloadOutdated"
    one.see(structs.replace(ADMITTED, deleting=True))
    assert one.turn(1) == ("ReleaseWorkload",)
    one.see(None, ADMITTED.uid)
    one.asked.clear()
    assert one.turn(1) == ("EnsureWorkload",)


def test_pods_ready_is_reported_once_an_epoch_and_not_for_each_flap() -> None:
    one = at_work()
    assert written(one.patch())["PodsReady"] == ("True", "Started")
    one.see(structs.replace(ADMITTED, conditions=one.patch().conditions))
    asked = len(one.asked)
    for ready in (False, True, False):
        one.set(2, ready=ready)
        one.turn(20)
    assert len(one.asked) == asked


def test_quota_that_is_reserved_but_not_admitted_starts_nothing() -> None:
    one = QueueStory(queued_plan())
    one.turn()
    one.see(workload("own", "QuotaReserved", Admitted=("False", "UnsatisfiedChecks", "waits for checks")))
    one.turn(5)
    assert (one.running, one.kept.message) == (0, "queued in q: quota is reserved (waits for checks)")


@pytest.mark.parametrize(
    ("lost", "reason", "words"),
    [
        (structs.replace(ADMITTED, active=False), "Deactivated", "was deactivated (spec.active)"),
        (structs.replace(ADMITTED, deleting=True), "WorkloadDeleted", "is being deleted"),
        (workload("own", "QuotaReserved", "Admitted", "Finished"), "WorkloadFinished", "was finished by others"),
        (workload("own", Admitted=("False", "NoReservation", "it has no quota")), "AdmissionLost", "it has no quota"),
        (workload("own"), "AdmissionLost", "its Workload own is not admitted"),
        (None, "WorkloadDeleted", "its Workload is gone"),
    ],
)
def test_pods_go_at_once_where_the_quota_is_lost_already(lost: Workload | None, reason: str, words: str) -> None:
    one = at_work()
    one.see(lost, ADMITTED.uid)
    one.turn(1)
    assert (one.kept.phase, one.running) == (Phase.QUEUED, 0)
    assert one.kept.cause is not None
    assert (one.kept.cause.reason, one.kept.cause.disruption) == (reason, True)
    assert words in one.kept.cause.message


def test_evictions_do_not_count_against_the_disruptions_in_a_row() -> None:
    one = at_work(max_disruptions=0)
    evicted = workload("own", "QuotaReserved", "Admitted", Evicted=("True", "Preempted", "why"))
    one.see(evicted)
    one.turn(1)
    assert (one.kept.phase, one.kept.disruptions, one.kept.consecutive_disruptions) == (Phase.QUEUED, 1, 0)


def test_pods_that_a_default_queue_gates_although_the_gang_is_admitted_are_stuck() -> None:
    one = at_work()
    one.set(
        1, started=False, scheduled=False, waiting_reason="SchedulingGated", waiting_message="kueue.x-k8s.io/admission"
    )
    one.turn(1)
    assert one.condition(STUCK) == (False, "NotStuck")
    one.turn(60)
    assert one.condition(STUCK) == (True, "QueuedTwice")
    assert "list Experiment.v1alpha1.muster.dev in integrations.externalFrameworks" in one.kept.message


def experiment(types: int, **labels: str) -> dict[str, object]:
    names = [f"group-{chr(97 + number)}" for number in range(types)]
    one = {"count": 1, "completions": 1, "resources": {"cpus": 1, "ramRatio": 2}}
    spec = {"operator": "jobset", "image": "i", "command": "c", "types": dict.fromkeys(names, one)}
    metadata = {"uid": "u", "name": "run", "namespace": "team", "resourceVersion": "1", "labels": labels}
    return {"metadata": metadata, "spec": spec}


def test_the_labels_name_queue_and_priority_class() -> None:
    labels = {QUEUE_LABEL: "q", PRIORITY_LABEL: "low"}
    assert plan_of(parse_experiment(experiment(18, **labels))).queue == Queue("q", "low")
    assert plan_of(parse_experiment(experiment(1))).queue is None


def test_more_types_than_a_workload_has_pod_sets_are_refused() -> None:
    assert plan_of(parse_experiment(experiment(19))).queue is None
    with pytest.raises(PlanError, match="at most 18 types") as refused:
        plan_of(parse_experiment(experiment(19, **{QUEUE_LABEL: "q"})))
    assert isinstance(refused.value, MusterError)
