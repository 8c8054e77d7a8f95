"""The times of a phase and of a reason on the page."""

import re

from muster.api.values.accelerators import USUAL
from muster.daemon.web.page.document import Runbooks
from muster.daemon.web.page.experiment import story
from muster.daemon.web.page.fleet import _row
from muster.metrics.collector import Subject
from muster.rollcall.make import detail, summary
from muster.rollcall.seats import benches
from muster.state.facts.context import Context
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, plan, pod, record, view
from tests.state.summary.test_quiet import running


def words(*conditions: Condition) -> str:
    """Return the words of the page of a gang that has run for ten minutes."""
    kept = record(phase=Phase.RUNNING, phase_at=NOW - 600, conditions=conditions)
    one = Subject(plan(), kept, view(*map(pod, range(4)))).at(NOW)
    main, _ = story(detail(one), benches(one), {}, role="", now=NOW, runbooks=Runbooks(""))
    return re.sub("<[^>]*>", "", main.html.replace("</td>", "|"))


def test_phase_and_reason_of_stuck_have_each_their_own_time() -> None:
    stuck = Condition(ConditionType.STUCK, True, "CoordinatorUnreachable", "it is silent", 1, NOW - 400, NOW - 130)
    shown = words(stuck)
    assert "Running for 10m, CoordinatorUnreachable for 2m" in shown
    assert "StuckTrue|CoordinatorUnreachable for 2m|it is silent|6m|" in shown


def test_a_reason_as_old_as_its_status_has_no_second_time() -> None:
    shown = words(Condition(ConditionType.STUCK, True, "RanksMissing", "rank 2", 1, NOW - 400))
    assert "Running for 10m, RanksMissing for 6m" in shown
    assert "StuckTrue|RanksMissing|rank 2|6m|" in shown
    assert "Running for 10m" in words()
    assert "RanksMissing" not in words(Condition(ConditionType.STUCK, False, "NotStuck", "", 1, NOW - 400))


def test_the_hint_of_a_quiet_gang_is_on_its_page_and_on_that_of_the_fleet() -> None:
    story_of = running()
    story_of.stand(51)
    one = Context.at(story_of.plan, story_of.kept, story_of.view, story_of.now)
    main, _ = story(detail(one), benches(one), {}, role="", now=story_of.now, runbooks=Runbooks(""))
    assert '<p class="words">no rank has made a step for 51s (usual: 1 s)</p>' in main.html
    row = _row(summary(one), story_of.now, Runbooks(""), USUAL)
    assert "<small>no rank has made a step for 51s (usual: 1 s)</small>" in row.html
