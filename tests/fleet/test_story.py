"""The verdict on the story: right where all was said once and in time, and wrong by name for each other thing."""

from dataclasses import replace

import pytest

from tests.fleet.story import ALONE, HEALED, INCIDENTS, Said, Seen, faults

FIRST, *_ = INCIDENTS
NAME = f"{FIRST.kind} {FIRST.subject}"


def said(alert: str, about: str, fired: float, ended: float, severity: str = "critical") -> list[Said]:
    return [Said(fired, alert, "firing", severity, about), Said(ended, alert, "resolved", severity, about)]


def right() -> Seen:
    """All was said as it should be."""
    seen = Seen(incidents={f"{each.kind} {each.subject}": each.runs for each in INCIDENTS})
    for each in INCIDENTS:
        seen.said += said("MusterIncident", f"{each.kind} {each.subject}", each.fault + 40, HEALED + 480)
    for name in ALONE:
        seen.said += said("MusterUnschedulable", name, 500, HEALED + 60, "warning")
    return seen


def test_what_is_reported_once_and_in_time_is_right_and_so_is_an_outage_that_was_one() -> None:
    seen = right()
    seen.said += said("MusterDaemonDown", "musterd", 196, 260)
    assert faults(seen) == []


@pytest.mark.parametrize(("more", "expected"), [
    (said("MusterIncident", NAME, 130, HEALED + 480), f"MusterIncident {NAME}: 2 notifications that it fires"),
    (said("MusterIncident", "taint x", 130, HEALED + 480), "MusterIncident taint x is no alert of these faults"),
    (said("MusterHung", "run-001", 130, HEALED + 480), "MusterHung run-001 is no alert of these faults"),
    (said("MusterDaemonDown", "musterd", 400, 460), "MusterDaemonDown musterd is no alert of these faults"),
    ([Said(200, "MusterIncident", "resolved", "critical", NAME)], f"MusterIncident {NAME} was resolved at 200 s"),
])  # fmt: skip
def test_what_is_reported_beside_it_is_wrong(more: list[Said], expected: str) -> None:
    seen = right()
    seen.said += more
    assert any(each.startswith(expected) for each in faults(seen))


def test_what_is_late_or_not_reported_at_all_is_wrong() -> None:
    seen = right()
    seen.said = [each for each in seen.said if each.about != NAME]
    assert faults(seen) == [
        f"MusterIncident {NAME}: 0 notifications that it fires, and not 1",
        f"MusterIncident {NAME} was never resolved",
    ]
    seen = right()
    late = replace(seen.said[0], at=FIRST.fault + FIRST.within + 1)
    seen.said[0] = late
    assert faults(seen) == [f"MusterIncident {NAME}: 91 s after the fault, and not within 90 s"]


def test_another_subject_or_number_of_runs_is_wrong_and_so_is_an_alert_that_stays() -> None:
    seen = right()
    seen.incidents[NAME] -= 1
    seen.firing = ["MusterIncident rack r03"]
    assert [each.partition(" ")[2] for each in faults(seen)] == [
        f"incidents and their runs were {seen.incidents}",
        "rack r03 fires at the end",
    ]
