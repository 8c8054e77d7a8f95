"""Who can mend what a run is stuck for."""

import re

import pytest

from deploy.prometheus import reasons
from deploy.prometheus.groups import ALERTS
from muster.metrics.catalogue import CLOCK_REASONS, REFUSED
from muster.metrics.runbooks import REASONS
from muster.state.facts.audience import CATALOGUE, Audience, of_cause, of_reason
from muster.state.facts.causes.table import CAUSES, Causes
from tools.reasons.rows import STUCK

EXPLAINED = {reason for row in STUCK for reason in row.reasons} - {"RunContainerError", "CrashLoopBackOff"}
"""Reasons of the page, except those that only a kubelet names."""


@pytest.mark.parametrize(
    "reason", sorted({*EXPLAINED, *REFUSED, *CLOCK_REASONS, *(r for r in reasons.CLAIMED if r.isalpha())})
)
def test_a_reason_that_muster_knows_is_in_the_catalogue(reason: str) -> None:
    assert reason in CATALOGUE


@pytest.mark.parametrize(
    ("reason", "audience"),
    [
        ("ImagePullBackOff", Audience.RESEARCHER),
        ("Unschedulable", Audience.RESEARCHER),
        ("NodeNotReady", Audience.PLATFORM),
        ("WebhookFailed", Audience.PLATFORM),
        ("_other", Audience.RESEARCHER),
        ("A\nB", Audience.RESEARCHER),
    ],
)
def test_a_reason_is_for_who_can_mend_it(reason: str, audience: Audience) -> None:
    assert of_reason(reason) is audience


def test_a_cause_is_for_who_is_charged_unless_it_says_otherwise() -> None:
    other = {cause for cause in CAUSES if cause.charge and cause.charge.platform is (of_cause(cause) == "researcher")}
    assert other == {Causes.UNSCHEDULABLE}


@pytest.mark.parametrize("alert", [each for each in ALERTS if each.name in REASONS and each.audience], ids=str)
def test_an_alert_of_one_audience_is_about_reasons_of_it(alert) -> None:  # type: ignore[no-untyped-def]
    known = [name for name in CATALOGUE if any(re.fullmatch(each, name) for each in REASONS[alert.name])]
    assert {of_reason(name) for name in known} == {alert.audience}
