"""Which condition of an object complains, whatever its kind."""

from typing import Any

import pytest

from muster.kinds.planning.watched_plan import complaint, state_of
from muster.kinds.registry import WATCHED_KINDS
from muster.state.view.own import OwnVerdict
from tests.builders import sure
from tests.watched_samples import SAMPLES

TIME = "2026-01-01T00:00:00Z"


def condition(kind: str, status: object, reason: str = "", message: str = "why", at: str = TIME) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def of(*conditions: object) -> str | None:
    found = complaint({"status": {"conditions": list(conditions)}})
    return None if found is None else f"{found.reason}: {found.message}"


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (condition("Created", "False", "JobsBuildFailed"), "JobsBuildFailed: why"),
        (condition("ReplicaFailure", "True", "FailedCreate"), "FailedCreate: why"),
        (condition("Unschedulable", "True"), "Unschedulable: why"),
        (condition("QuotaReserved", "False", "QuotaExceeded"), "QuotaExceeded: why"),
        (condition("Failed", "False", "NotFailed"), None),
        (condition("Failed", "Unknown", "Failed"), None),
        (condition("Available", "True", "PastErrorsGone"), None),
        (condition("Created", "True", "PyTorchJobCreated"), None),
        (condition("Created", True, "JobsBuildFailed"), None),
        ({"type": 1, "status": "True", "reason": "Failed"}, None),
        ("Failed", None),
    ],
)
def test_a_true_trouble_or_a_false_state_with_a_trouble_as_reason_complains(one: object, said: str | None) -> None:
    assert of(one) == said


def test_the_newest_complaint_counts_and_its_text_is_bounded_and_without_credentials() -> None:
    newer = condition("Created", "False", "Failed", "password=hunter2hunter " + "x" * 9999, at="2026-01-02T00:00:00Z")
    found = sure(complaint({"status": {"conditions": [newer, condition("Created", "False", "Error")]}}))
    assert found.reason == "Failed"
    assert len(found.message) <= 512
    assert "hunter2" not in found.message


@pytest.mark.parametrize("name", [name for name, kind in WATCHED_KINDS.items() if not kind.virtual])
def test_a_complaint_of_any_kind_is_a_remark_and_no_verdict(name: str) -> None:
    kind = WATCHED_KINDS[name]
    status = {"conditions": [condition("Created", "False", "JobsBuildFailed")]}
    obj = {"metadata": {"name": "run"}, "spec": SAMPLES[name].spec(3), "status": status}
    state = state_of(kind, obj)
    assert state.verdict is OwnVerdict.NOTHING
    assert sure(state.remark).reason == "JobsBuildFailed"
