"""What is counted, and that it is counted once."""

from math import inf, nan

import pytest
from prometheus_client import Counter
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from muster.api.causes import ContainerRestarts
from muster.api.gang import Attempts, RestartReason
from muster.metrics import catalogue
from muster.metrics.catalogue import LABEL_SETS, NAMESPACES
from muster.metrics.exposition import OPENMETRICS, Bounded, label, look, write
from muster.metrics.instruments import Instruments
from muster.metrics.rows.row import Metric
from muster.metrics.traces import context
from muster.state.vocabulary.record import Cause, Phase, Record
from tests.builders import NOW, plan, record


@pytest.fixture
def instruments() -> Instruments:
    return Instruments("1.2.3", tracked_pods=lambda: 7, queue_depth=lambda: 2)


def read(instruments: Instruments, name: str, **labels: str) -> float | None:
    return instruments.registry.get_sample_value(name, labels)


def test_leaving_a_phase_observes_how_long_it_lasted(instruments: Instruments) -> None:
    before = record(phase=Phase.ASSEMBLING, phase_at=NOW)
    instruments.transition(plan(), before, record(phase=Phase.RUNNING, phase_at=NOW + 42))
    where = {"operator": "jax", "phase": "Assembling"}
    assert read(instruments, "muster_phase_duration_seconds_sum", **where) == 42
    assert read(instruments, "muster_phase_duration_seconds_bucket", **where, le="30.0") == 0
    assert read(instruments, "muster_phase_duration_seconds_bucket", **where, le="60.0") == 1


def test_a_duration_has_the_trace_of_its_experiment_for_those_who_ask_for_openmetrics() -> None:
    ours = Instruments("1", lambda: 0, lambda: 0, traced=lambda plan, _old, _new: f"{context(plan.uid).trace_id:032x}")
    pending = record(phase=Phase.ASSEMBLING, phase_at=NOW, epoch_at=NOW, broken_at=NOW)
    ours.transition(plan(), pending, record(phase=Phase.RUNNING, phase_at=NOW + 4, epoch_at=NOW, assembled_at=NOW + 4))
    seen = write(look(ours.registry), OPENMETRICS)[0].decode()
    found = {
        (sample.name, sample.exemplar.value): sample.exemplar.labels
        for family in text_string_to_metric_families(seen)
        for sample in family.samples
        if sample.exemplar is not None
    }
    expected = {"trace_id": f"{context(plan().uid).trace_id:032x}"}
    names = ("muster_phase_duration", "muster_time_to_assembled", "muster_restart_downtime")
    assert found == {(f"{name}_seconds_bucket", 4.0): expected for name in names}
    assert b"trace_id" not in write(look(ours.registry), "text/plain")[0]


def test_without_traces_no_duration_has_an_exemplar(instruments: Instruments) -> None:
    instruments.transition(plan(), record(phase_at=NOW), record(phase=Phase.RUNNING, phase_at=NOW + 4))
    assert b" # {" not in write(look(instruments.registry), OPENMETRICS)[0]


def test_a_write_that_changes_no_phase_observes_nothing(instruments: Instruments) -> None:
    instruments.transition(plan(), record(), record(message="2/4 ranks arrived"))
    assert read(instruments, "muster_phase_duration_seconds_count", operator="jax", phase="Pending") == 0


def test_restarts_of_containers_are_counted_by_the_reason_of_the_end_before(instruments: Instruments) -> None:
    def running(count: int, reason: str) -> Record:
        return record(phase=Phase.RUNNING, in_place=ContainerRestarts(count, cause=Cause(0, reason)))

    for old, new in [(0, 8), (8, 8), (8, 2)]:
        instruments.transition(plan(), running(old, "OOMKilled"), running(new, "OOMKilled"))
    instruments.transition(plan(), record(phase=Phase.RUNNING), running(1, 'x",y="'))
    found = {
        reason: read(instruments, "muster_container_restarts_total", operator="jax", reason=reason)
        for reason in catalogue.ENDS
    }
    assert found == {"OOMKilled": 8, "Error": 0, "Completed": 0, "Other": 1}


def test_a_restart_is_counted_by_its_cause(instruments: Instruments) -> None:
    cause = Cause(0, "OOMKilled", "", NOW, rank=2, exit_code=137)
    after = record(phase=Phase.RESTARTING, epoch=1, restarts=1, gang_restarts=1, cause=cause)
    instruments.transition(plan(), record(phase=Phase.RUNNING), after)
    again = record(phase=Phase.PENDING, epoch=1, restarts=1, gang_restarts=1, cause=cause)
    instruments.transition(plan(), after, again)
    assert read(instruments, "muster_gang_restarts_total", operator="jax", reason="OOMKilled") == 1
    assert read(instruments, "muster_disruptions_total", operator="jax", reason="OOMKilled") is None
    assert read(instruments, "muster_disruptions_total", operator="jax", reason="NodeLost") == 0


def test_members_that_run_again_are_counted_by_their_cause_and_are_no_gang_restart(instruments: Instruments) -> None:
    cause = Cause(0, "OOMKilled", "", NOW, rank=2, exit_code=137)
    met = (RestartReason("OOMKilled", 1), RestartReason("NodeLost", 1))
    again = (Attempts("2,5", 1), Attempts("7", 2))
    before = record(phase=Phase.RUNNING, attempts=(Attempts("7", 1),))
    after = record(phase=Phase.RUNNING, attempts=again, restarts=1, disruptions=1, cause=cause, restart_reasons=met)
    instruments.transition(plan(), before, after)
    instruments.transition(plan(), after, after)
    counted = {
        reason: read(instruments, "muster_member_restarts_total", operator="jax", reason=reason)
        for reason in ("OOMKilled", "NodeLost", "Error")
    }
    assert counted == {"OOMKilled": 2, "NodeLost": 1, "Error": 0}, "a job that runs again counts each of its members"
    assert read(instruments, "muster_gang_restarts_total", operator="jax", reason="OOMKilled") == 0
    assert read(instruments, "muster_disruptions_total", operator="jax", reason="OOMKilled") == 1


def test_pods_that_a_job_replaces_at_once_are_counted_by_the_reason_of_the_first(instruments: Instruments) -> None:
    deleted = Cause(0, "PodDeleted", "", NOW, rank=1, disruption=True)
    instruments.transition(plan(), record(), record(attempts=(Attempts("0-2", 1),), cause=deleted))
    assert read(instruments, "muster_member_restarts_total", operator="jax", reason="PodDeleted") == 3


def test_the_roll_of_an_epoch_is_timed_from_its_launch_and_from_what_broke_the_one_before(
    instruments: Instruments,
) -> None:
    before = record(phase=Phase.ASSEMBLING, epoch=1, epoch_at=NOW + 10, broken_at=NOW)
    after = record(phase=Phase.RUNNING, epoch=1, epoch_at=NOW + 10, assembled_at=NOW + 25)
    instruments.transition(plan(), before, after)
    instruments.transition(plan(), after, record(phase=Phase.SUCCEEDED, epoch=1, assembled_at=NOW + 25))
    assert read(instruments, "muster_time_to_assembled_seconds_sum", operator="jax") == 15
    assert read(instruments, "muster_time_to_assembled_seconds_count", operator="jax") == 1
    assert read(instruments, "muster_restart_downtime_seconds_sum", operator="jax") == 25
    assert read(instruments, "muster_restart_downtime_seconds_count", operator="jax") == 1


def test_an_epoch_that_nothing_broke_has_no_downtime(instruments: Instruments) -> None:
    before = record(phase=Phase.ASSEMBLING, epoch_at=NOW)
    instruments.transition(plan(), before, record(phase=Phase.RUNNING, epoch_at=NOW, assembled_at=NOW + 9))
    assert read(instruments, "muster_time_to_assembled_seconds_sum", operator="jax") == 9
    assert read(instruments, "muster_restart_downtime_seconds_count", operator="jax") == 0


def test_a_disruption_is_a_restart_and_a_disruption(instruments: Instruments) -> None:
    cause = Cause(0, "PreemptionByScheduler", "", NOW, disruption=True)
    instruments.transition(plan(), record(), record(phase=Phase.RESTARTING, epoch=1, disruptions=1, cause=cause))
    where = {"operator": "jax", "reason": "PreemptionByScheduler"}
    assert read(instruments, "muster_gang_restarts_total", **where) == 1
    assert read(instruments, "muster_disruptions_total", **where) == 1


@pytest.mark.parametrize(("restarts", "disruptions"), [(0, 0), (1, 0), (1, 1)])
def test_a_gang_restart_is_counted_once_whatever_it_is_charged_to(
    instruments: Instruments, restarts: int, disruptions: int
) -> None:
    """The rules of a JobSet charge some to no account, and a preempted pod to both."""
    cause = Cause(0, "Error", "", NOW)
    after = record(
        phase=Phase.RESTARTING, epoch=1, gang_restarts=1, restarts=restarts, disruptions=disruptions, cause=cause
    )
    instruments.transition(plan(), record(), after)
    assert read(instruments, "muster_gang_restarts_total", operator="jax", reason="Error") == 1


def test_an_outcome_is_counted_once_even_if_the_first_record_is_the_last(instruments: Instruments) -> None:
    end = record(phase=Phase.FAILED, reason="InvalidSpec")
    instruments.transition(plan(), None, end)
    instruments.transition(plan(), end, record(phase=Phase.FAILED, reason="InvalidSpec", message="seen again"))
    where = {"operator": "jax", "outcome": "Failed", "reason": "InvalidSpec"}
    assert read(instruments, "muster_outcomes_total", **where) == 1
    assert read(instruments, "muster_phase_duration_seconds_count", operator="jax", phase="Failed") is None


@pytest.mark.parametrize("odd", [nan, inf, -5.0])
def test_an_invalid_duration_does_not_spoil_the_sum(instruments: Instruments, odd: float) -> None:
    instruments.decision(odd)
    instruments.decision(0.25)
    assert read(instruments, "muster_decision_duration_seconds_sum") == 0.25
    assert read(instruments, "muster_decision_duration_seconds_count") == 2


def test_reasons_beyond_the_limit_share_the_overflow_series(instruments: Instruments) -> None:
    for n in range(LABEL_SETS - len(catalogue.OUTCOMES) + 50):
        instruments.transition(plan(), None, record(phase=Phase.FAILED, reason=f"Reason{n}"))
    other = {"operator": "_other", "outcome": "_other", "reason": "_other"}
    assert read(instruments, "muster_outcomes_total", **other) == 50
    assert read(instruments, "muster_label_sets_folded_total", metric="muster_outcomes_total") == 50
    instruments.transition(plan(), None, record(phase=Phase.FAILED, reason="Reason3"))
    known = {"operator": "jax", "outcome": "Failed", "reason": "Reason3"}
    assert read(instruments, "muster_outcomes_total", **known) == 2


@pytest.mark.parametrize("said", ["Evicted<script>alert(1)</script>", "two words", "Reason\ud800", "Größe"])
def test_a_reason_that_is_no_word_is_other(instruments: Instruments, said: str) -> None:
    ended = record(epoch=1, gang_restarts=1, restarts=1, cause=Cause(0, said))
    instruments.transition(plan(), record(), ended)
    instruments.transition(plan(), None, record(phase=Phase.FAILED, reason=said))
    assert read(instruments, "muster_gang_restarts_total", operator="jax", reason="_other") == 1
    assert read(instruments, "muster_outcomes_total", operator="jax", outcome="Failed", reason="_other") == 1


def test_counters_of_closed_sets_begin_at_0_and_leave_room_for_others(instruments: Instruments) -> None:
    invalid = {"operator": "_invalid", "outcome": "Failed", "reason": "InvalidSpec"}
    assert read(instruments, "muster_outcomes_total", **invalid) == 0
    assert read(instruments, "muster_refusals_total", reason="QuotaExceeded") == 0
    assert read(instruments, "muster_internal_errors_total", place="step") == 0
    assert read(instruments, "muster_probe_requests_total", kind="jax", state="serving") == 0
    assert read(instruments, "muster_progress_posts_total", outcome="refused") == 0
    known = (getattr(catalogue, name) for name in ("PHASES", "RESTARTS", "DISRUPTIONS", "OUTCOMES", "REFUSALS"))
    assert max(map(len, known)) <= LABEL_SETS / 4


def test_a_full_instrument_still_knows_the_series_it_has() -> None:
    folded = Counter("folded", "", ["metric"], registry=None)
    row = Metric("things_total", "", ("kind",))
    bounded = Bounded(row, Counter("things", "", ["kind"], registry=None), folded, limit=1)
    first = bounded.at("a")
    assert bounded.at("b") is not first
    assert bounded.at("b") is bounded.at("c")
    assert bounded.at("a") is first


def test_a_label_is_printable_and_short() -> None:
    assert label("trainer-worker") == "trainer-worker"
    assert label("zürich") == "zürich"
    assert label("a\nb\0\ud800") == "a b\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
    assert len(label("x" * 1000)) == 253
    assert label("x" * 1000).endswith("…")


NAME = "muster_namespace_outcomes_total"


def ended(instruments: Instruments, namespace: str, outcome: str, operator: str = "jax") -> float | None:
    labels = {"namespace": namespace, "operator": operator, "outcome": outcome}
    return read(instruments, NAME, **labels)


def series(instruments: Instruments) -> dict[str, float]:
    found = (sample for family in instruments.registry.collect() for sample in family.samples if sample.name == NAME)
    return {"/".join(sample.labels.values()): sample.value for sample in found}


def test_an_end_is_counted_once_in_its_namespace(instruments: Instruments) -> None:
    end = record(phase=Phase.FAILED, reason="BackoffLimitExceeded")
    instruments.transition(plan(namespace="red"), record(), end)
    instruments.transition(plan(namespace="red"), end, end)
    instruments.transition(plan(namespace="blue"), record(), record(phase=Phase.SUCCEEDED))
    assert (ended(instruments, "red", "Failed"), ended(instruments, "red", "Succeeded")) == (1, 0)
    assert (ended(instruments, "blue", "Failed"), ended(instruments, "blue", "Succeeded")) == (0, 1)


def test_the_series_begin_at_0_with_the_first_record_so_that_the_first_end_is_an_increase(
    instruments: Instruments,
) -> None:
    instruments.transition(plan(namespace="red"), None, record(phase=Phase.PENDING))
    assert (ended(instruments, "red", "Failed"), ended(instruments, "red", "Succeeded")) == (0, 0)


def test_an_experiment_without_a_plan_is_counted_in_the_namespace_of_its_object(instruments: Instruments) -> None:
    instruments.transition(None, None, record(phase=Phase.FAILED, reason="InvalidSpec"), "red")
    assert ended(instruments, "red", "Failed", "_invalid") == 1


def test_namespaces_beyond_the_limit_share_one_value_and_none_is_lost(instruments: Instruments) -> None:
    failed = record(phase=Phase.FAILED)
    for number in range(NAMESPACES + 50):
        instruments.transition(plan(namespace=f"team-{number}"), record(), failed)
    assert ended(instruments, "_other", "Failed") == 50
    assert ended(instruments, f"team-{NAMESPACES - 1}", "Failed") == 1
    assert ended(instruments, f"team-{NAMESPACES}", "Failed") is None
    assert len(series(instruments)) == 2 * (NAMESPACES + 1)
    assert sum(series(instruments).values()) == NAMESPACES + 50
    folded = instruments.registry.get_sample_value("muster_label_sets_folded_total", {"metric": NAME})
    assert folded == 50
    instruments.transition(plan(namespace="team-3"), record(), failed)
    assert ended(instruments, "team-3", "Failed") == 2, "a namespace keeps its place"
