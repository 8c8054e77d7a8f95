"""Each reason and each cause leads to a runbook that exists."""

from pathlib import Path

import pytest

from muster.metrics.runbooks import OTHERS, PLACES, REASONS, of_cause, of_reason
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import CAUSES, Causes

FOLDER = Path(__file__).parents[2] / "docs" / "runbooks"

PASSING = (
    *(Causes.NODE_LOST, Causes.NODE_PRESSURE, Causes.EVICTED, Causes.LOST, Causes.TERMINATING, Causes.QUEUED),
    *(Causes.HELD_BACK, Causes.INIT_CONTAINER, Causes.STARTING, Causes.SCHEDULING, Causes.NOT_CREATED),
    Causes.AWAITS_COORDINATOR,
)
"""Causes without a runbook: a moment of the start or of a restart, or what follows from the cause of another member."""


@pytest.mark.parametrize("name", sorted({*REASONS, OTHERS, *(cause.runbook for cause in CAUSES if cause.runbook)}))
def test_a_runbook_that_is_linked_exists(name: str) -> None:
    page, _, anchor = PLACES[name].partition("#")
    assert anchor == name.lower()
    assert f"\n## {name}\n" in (FOLDER / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("cause", CAUSES, ids=str)
def test_a_cause_has_one_runbook_or_passes_by_itself(cause: MissingCause) -> None:
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
