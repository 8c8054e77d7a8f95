"""The label sets that counters begin with are those that can come."""

from muster.api.manifest.operators import operators
from muster.daemon.web import progress
from muster.metrics import catalogue
from muster.state.policies.failures.restart_reasons import EXPORTED


def test_every_operator_that_can_be_planned_is_one_that_a_manifest_may_name() -> None:
    assert set(catalogue.OPERATORS) == set(operators())


def test_a_restart_counts_under_the_same_reason_for_one_experiment_as_for_all() -> None:
    assert {reason for _, reason in catalogue.RESTARTS} < set(EXPORTED)


def test_every_answer_of_the_progress_endpoint_begins_at_0() -> None:
    outcomes = {"refused", *progress._OUTCOMES.values()}  # noqa: SLF001
    assert {outcome for (outcome,) in catalogue.POSTS} == outcomes
