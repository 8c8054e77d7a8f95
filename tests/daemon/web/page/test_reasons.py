"""The times of a phase and of a reason on the page."""

import re

from muster.daemon.web.page.experiment import story
from muster.daemon.web.page.runbooks import Runbooks
from muster.metrics.collector import Subject
from muster.rollcall.make import detail
from muster.rollcall.seats import benches
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, plan, pod, record, view


def words(*conditions: Condition) -> str:
    """The words of the page of a gang that runs since ten minutes."""
    kept = record(phase=Phase.RUNNING, phase_at=NOW - 600, conditions=conditions)
    one = Subject(plan(), kept, view(*map(pod, range(4)))).at(NOW)
    main, _ = story(detail(one, {}), benches(one), {}, role="", now=NOW, runbooks=Runbooks(""))
    return re.sub("<[^>]*>", "", main.html.replace("</td>", "|"))


def test_phase_and_reason_of_stuck_have_each_their_own_time() -> None:
    stuck = Condition(ConditionType.STUCK, True, "CoordinatorUnreachable", "it is silent", 1, NOW - 400, NOW - 130)
    shown = words(stuck)
    assert "Running for 10m, CoordinatorUnreachable for 2m" in shown
    assert "Stuckyes|CoordinatorUnreachable for 2m|it is silent|6m|" in shown


def test_a_reason_as_old_as_its_status_has_no_second_time() -> None:
    shown = words(Condition(ConditionType.STUCK, True, "RanksMissing", "rank 2", 1, NOW - 400))
    assert "Running for 10m, RanksMissing for 6m" in shown
    assert "Stuckyes|RanksMissing|rank 2|6m|" in shown
    assert "Running for 10m" in words()
    assert "RanksMissing" not in words(Condition(ConditionType.STUCK, False, "NotStuck", "", 1, NOW - 400))
