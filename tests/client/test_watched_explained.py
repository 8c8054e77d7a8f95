"""The first line of a watched run and its condition Stuck agree."""

from dataclasses import replace
from typing import Any

import pytest

from muster.api.status import ExperimentStatus
from muster.client.snapshot import EventSummary, Snapshot
from muster.client.watched import LASTS, look
from muster.client.watching import as_musterd_reported
from muster.kinds.registry import WATCHED_KINDS
from muster.state.view.own import Remark
from muster.state.vocabulary.record import Condition
from tests.watched_samples import SAMPLES

CREATED = 1_767_225_600.0
WHY = Remark("FailedCreate", "exceeded quota", CREATED + 60, "job-controller")


def seen(age: float, remark: Remark | None = None, problem: str = "") -> Snapshot:
    """A JobSet of that age without pods."""
    kind = WATCHED_KINDS["jobsets"]
    metadata = {"name": "run", "namespace": "team", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    obj: Any = {"kind": "JobSet", "metadata": metadata | {"resourceVersion": "1"}, "status": {}}
    obj["spec"] = SAMPLES["jobsets"].spec(2)
    return look(kind, obj, [], CREATED + age, remark=remark, remark_problem=problem)


def stuck(status: ExperimentStatus) -> Condition:
    return next(each for each in status.conditions if each.type == "Stuck")


def test_a_run_whose_pods_never_came_is_stuck_a_minute_after_its_creation() -> None:
    status = seen(100.0, WHY).status
    assert status.reason == stuck(status).reason == "PodsMissing"
    assert stuck(status).status is True
    assert status.message.startswith("0/2 pods exist; ranks 0-1 have no pod; FailedCreate (job-controller, 40s ago)")


def test_before_that_one_moment_does_not_show_whether_it_is_stuck() -> None:
    status = seen(10.0).status
    assert status.reason == stuck(status).reason == "PodsMissing"
    assert (stuck(status).status, stuck(status).message) == (None, LASTS)


def test_where_events_may_not_be_read_the_sentence_says_so() -> None:
    why = "why may be in its Events, which you may not list"
    assert "which you may not list" in seen(100.0, problem=why).status.message


@pytest.mark.parametrize(("remark", "own"), [(None, False), (WHY, True)])
def test_the_last_event_of_musterd_is_the_sentence_where_nothing_newer_is_quoted(
    remark: Remark | None, own: bool
) -> None:
    event = EventSummary(CREATED + 65, "Warning", "Stuck", "PodsMissing: why", 1, "muster")
    status = as_musterd_reported(seen(100.0, remark), [event])
    assert (status.message == "PodsMissing: why (musterd's last Event)") is not own


def test_stuck_is_true_where_the_last_event_of_musterd_says_so() -> None:
    snapshot = seen(10.0)
    event = EventSummary(CREATED + 5, "Warning", "Stuck", "PodsMissing: why", 1, "muster")
    found = stuck(as_musterd_reported(snapshot, [event]))
    assert (found.status, found.since, found.reason) == (True, CREATED + 5, "PodsMissing")
    for reason in ("Watching", "StaleMembers"):
        assert stuck(as_musterd_reported(snapshot, [replace(event, reason=reason)])).status is None
