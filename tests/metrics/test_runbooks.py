"""Each reason and each cause leads to a runbook that exists."""

from pathlib import Path

import pytest

from muster.metrics.runbooks import OTHERS, PLACES, REASONS, of_cause, of_reason
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import CAUSES, Causes

FOLDER = Path(__file__).parents[2] / "docs" / "runbooks"

PASSING = {
    Causes.NODE_LOST: "the gang starts again by itself",
    Causes.NODE_PRESSURE: "the gang starts again by itself",
    Causes.EVICTED: "the gang starts again by itself",
    Causes.LOST: "the gang starts again by itself",
    Causes.TERMINATING: "it ends",
    Causes.QUEUED: "it is admitted in its turn",
    Causes.HELD_BACK: "it follows others",
    Causes.INIT_CONTAINER: "a moment of the start",
    Causes.STARTING: "a moment of the start",
    Causes.SCHEDULING: "a moment of the start",
    Causes.NOT_CREATED: "a moment of the start",
    Causes.AWAITS_COORDINATOR: "follows from the coordinator's cause, which has one",
}
"""Causes without a runbook, and why."""


@pytest.mark.parametrize("name", sorted({*REASONS, OTHERS, *(cause.runbook for cause in CAUSES if cause.runbook)}))
def test_a_runbook_that_is_linked_exists(name: str) -> None:
    page, _, anchor = PLACES[name].partition("#")
    assert anchor == name.lower()
    assert f"\n## {name}\n" in (FOLDER / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("cause", CAUSES, ids=str)
def test_a_cause_has_one_runbook_or_a_reason_why_not(cause: MissingCause) -> None:
    assert bool(of_cause(cause.value)) != (cause in PASSING)


@pytest.mark.parametrize(
    ("reason", "runbook"),
    [
        ("RanksMissing", "MusterRankMissing"),
        ("ImagePullBackOff", "MusterImageNotPulled"),
        ("QuotaExceeded", "MusterCreateRefused"),
        ("ServicesForbidden", "MusterCreateRefused"),
        ("Hung", "MusterHung"),
        ("RanksEnded", OTHERS),
        ("../../evil", OTHERS),
        ("RanksMissing\n", OTHERS),
        ("", ""),
    ],
)
def test_a_reason_leads_to_the_runbook_of_its_alert(reason: str, runbook: str) -> None:
    assert of_reason(reason) == runbook
