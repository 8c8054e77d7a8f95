"""Ends of experiments are counted by namespace, in a number of series that no tenant can raise."""

import pytest

from muster.metrics.catalogue import NAMESPACES
from muster.metrics.instruments import Instruments
from muster.state.vocabulary.record import Phase
from tests.builders import plan, record

NAME = "muster_namespace_outcomes_total"


@pytest.fixture
def instruments() -> Instruments:
    return Instruments("1.2.3", tracked_pods=lambda: 0, queue_depth=lambda: 0)


def read(instruments: Instruments, namespace: str, outcome: str, operator: str = "jax") -> float | None:
    labels = {"namespace": namespace, "operator": operator, "outcome": outcome}
    return instruments.registry.get_sample_value(NAME, labels)


def series(instruments: Instruments) -> dict[str, float]:
    found = (sample for family in instruments.registry.collect() for sample in family.samples if sample.name == NAME)
    return {"/".join(sample.labels.values()): sample.value for sample in found}


def test_an_end_is_counted_once_in_its_namespace(instruments: Instruments) -> None:
    end = record(phase=Phase.FAILED, reason="BackoffLimitExceeded")
    instruments.transition(plan(namespace="red"), record(), end)
    instruments.transition(plan(namespace="red"), end, end)
    instruments.transition(plan(namespace="blue"), record(), record(phase=Phase.SUCCEEDED))
    assert (read(instruments, "red", "Failed"), read(instruments, "red", "Succeeded")) == (1, 0)
    assert (read(instruments, "blue", "Failed"), read(instruments, "blue", "Succeeded")) == (0, 1)


def test_the_series_begin_at_0_with_the_first_record_so_that_the_first_end_is_an_increase(
    instruments: Instruments,
) -> None:
    instruments.transition(plan(namespace="red"), None, record(phase=Phase.PENDING))
    assert (read(instruments, "red", "Failed"), read(instruments, "red", "Succeeded")) == (0, 0)


def test_an_experiment_without_a_plan_is_counted_in_the_namespace_of_its_object(instruments: Instruments) -> None:
    instruments.transition(None, None, record(phase=Phase.FAILED, reason="InvalidSpec"), "red")
    assert read(instruments, "red", "Failed", "_invalid") == 1


def test_namespaces_beyond_the_limit_share_one_value_and_none_is_lost(instruments: Instruments) -> None:
    failed = record(phase=Phase.FAILED)
    for number in range(NAMESPACES + 50):
        instruments.transition(plan(namespace=f"team-{number}"), record(), failed)
    assert read(instruments, "_other", "Failed") == 50
    assert read(instruments, f"team-{NAMESPACES - 1}", "Failed") == 1
    assert read(instruments, f"team-{NAMESPACES}", "Failed") is None
    assert len(series(instruments)) == 2 * (NAMESPACES + 1)
    assert sum(series(instruments).values()) == NAMESPACES + 50
    folded = instruments.registry.get_sample_value("muster_label_sets_folded_total", {"metric": NAME})
    assert folded == 50
    instruments.transition(plan(namespace="team-3"), record(), failed)
    assert read(instruments, "team-3", "Failed") == 2, "a namespace keeps its place"
