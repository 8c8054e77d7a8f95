"""The reasons of refusals are declared once, and everything that knows them agrees."""

import pytest

from muster.reconcilers.requests import refusals as answers
from muster.state.facts.audience import Audience, of_reason
from muster.state.facts.causes.table import REFUSED_BY
from muster.state.vocabulary.refusals import ALTERED, FORBIDDEN, NAMED, REFUSED, REJECTED, of_kind, refusal_reason

NAMES = {row.name for row in NAMED}


def test_what_is_read_from_an_answer_and_what_is_a_cause_is_in_the_list() -> None:
    assert {row.reason for row in answers._ROWS} <= NAMES  # noqa: SLF001
    assert set(REFUSED_BY) <= NAMES


@pytest.mark.parametrize(
    ("kind", "ending", "reason"),
    [
        ("Pod", REJECTED, "PodRejected"),
        ("Workload", ALTERED, "WorkloadAltered"),
        ("Pod", FORBIDDEN, "PodsForbidden"),
        ("WorkloadPriorityClass", REFUSED, "WorkloadPriorityClassesRefused"),
    ],
)
def test_a_reason_of_a_kind_is_found_again(kind: str, ending: object, reason: str) -> None:
    assert (of_kind(kind, ending), refusal_reason(reason)) == (reason, ending)  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", ["RanksMissing", "FlavorMissing", "PodsMissing", "Refused", "Rejected", ""])
def test_a_reason_that_only_looks_like_one_is_none(reason: str) -> None:
    assert refusal_reason(reason) is None


@pytest.mark.parametrize("reason", ["WorkloadsForbidden", "JobSetsRefused", "ResourceFlavorsForbidden"])
def test_a_refusal_of_a_kind_that_few_have_is_for_the_platform(reason: str) -> None:
    assert of_reason(reason) is Audience.PLATFORM
