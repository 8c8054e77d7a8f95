"""Each reason and each cause leads to a runbook that exists."""

from pathlib import Path

import pytest

from muster.metrics.runbooks import CAUSES, OTHERS, REASONS, of_cause, of_reason
from muster.state.facts.diagnosis.cause import MissingCause

FOLDER = Path(__file__).parents[2] / "docs" / "runbooks"

PASSING = {
    MissingCause.NODE_LOST: "the gang starts again by itself",
    MissingCause.EVICTED: "the gang starts again by itself",
    MissingCause.LOST: "the gang starts again by itself",
    MissingCause.TERMINATING: "it ends",
    MissingCause.QUEUED: "it is admitted in its turn",
    MissingCause.HELD_BACK: "it follows others",
    MissingCause.INIT_CONTAINER: "a moment of the start",
    MissingCause.SANDBOX: "a moment of the start",
    MissingCause.STARTING: "a moment of the start",
    MissingCause.SCHEDULING: "a moment of the start",
    MissingCause.NOT_CREATED: "a moment of the start",
    MissingCause.AWAITS_COORDINATOR: "follows from the coordinator's cause, which has one",
}
"""Causes without a runbook, and why."""


@pytest.mark.parametrize("name", sorted({*REASONS, *CAUSES, OTHERS}))
def test_a_runbook_that_is_linked_exists(name: str) -> None:
    assert (FOLDER / f"{name}.md").is_file()


@pytest.mark.parametrize("cause", MissingCause)
def test_a_cause_has_one_runbook_or_a_reason_why_not(cause: MissingCause) -> None:
    assert bool(of_cause(cause)) != (cause in PASSING)
    assert sum(cause in causes for causes in CAUSES.values()) <= 1


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
