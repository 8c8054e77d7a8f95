"""The parts that are read of a body from a program (``tests.kinds.kubeflow`` has the possible statuses)."""

import json
from typing import Any

import pytest

from muster.daemon.experiments.sent import PostRefused, read_status
from muster.reporting.endpoint import body_of
from muster.reporting.reporter import Latest, Spent
from muster.state.view.progress import StepReport
from muster.watchers.probes.reports import value_in


def body(percent: Any = 12, **metrics: Any) -> bytes:
    listed = [{"name": name, "value": value} for name, value in metrics.items()]
    status = {"progressPercentage": percent, "metrics": listed, "lastUpdatedTime": "2026-11-25T20:00:00+00:00"}
    return json.dumps({"trainerStatus": status}).encode()


def test_what_transformers_sends_in_a_step() -> None:
    sent = body(current_step="1840", total_steps="9000", loss="2.31", current_epoch="0.2")
    assert read_status(sent, 0) == StepReport(0, 1840, 0, scalars=(("loss", 2.31), ("current_epoch", 0.2)))


def test_what_muster_report_sends_has_its_own_clock_and_count() -> None:
    sent = body_of(Latest(7, {"loss": 2.5}, 8, 100.25, 1.5, Spent(600.0)))
    assert read_status(sent, 2) == StepReport(2, 7, 8, 100.25, 1.5, (("loss", 2.5),), 600.0)


@pytest.mark.parametrize(("said", "sent"), [("0", 0), ("2", 2), ("99999999", 9_999), ("-1", 0), ("two", 0), ("", 0)])
def test_torchruns_number_of_restarts_is_sent(said: str, sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", said)
    value = value_in(json.loads(body_of(Latest(7, {}, 8, 100.25, 1.5)))["muster"])
    assert value is not None
    assert value.restarts == sent


@pytest.mark.parametrize(
    "sent",
    [
        *map(body, (-1, 101, 1e300, "12", True, [])),
        *(b"", b"null", b"[]", b"7", b"\xff\xfe", b"[" * 5000, b"{", b'{"trainerStatus":[]}', b'{"trainerStatus":7}'),
        body(**{f"m{number}": "1" for number in range(257)}),
    ],
    ids=range(16),
)
def test_what_is_no_status_or_out_of_bounds_is_refused(sent: bytes) -> None:
    with pytest.raises(PostRefused):
        read_status(sent, 0)


@pytest.mark.parametrize("sent", [b"{}", b'{"trainerStatus":null}', b'{"trainerStatus":{}}', b'{"muster":{"step":-1}}'])
def test_what_says_nothing_of_progress_is_no_report(sent: bytes) -> None:
    assert read_status(sent, 0) is None
