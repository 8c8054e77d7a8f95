"""The page of an experiment: the times of its phase, its links to the runbooks, and its time by bucket."""

import re
from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from muster.api.goodput import Bucket, whole_seconds
from muster.api.values.accelerators import USUAL
from muster.daemon.settings import Settings
from muster.daemon.web.page.document import Runbooks
from muster.daemon.web.page.experiment import goodput, story
from muster.daemon.web.page.fleet import _row
from muster.metrics.collector import Subject
from muster.metrics.runbooks import PLACES, SERVED
from muster.rollcall.document import TimeReport
from muster.rollcall.make import detail, summary
from muster.rollcall.seats import benches
from muster.state.facts.context import Context
from muster.state.view.roll import RankState
from muster.state.vocabulary.pod import PodPhase
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, answer, plan, pod, record, view
from tests.state.summary.test_goodput import Timed
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


WAITING = pod(2, ready=False, started=False, phase=PodPhase.PENDING, waiting_reason="ImagePullBackOff")


def links(base: str, reason: str = "RanksMissing") -> Mapping[str, str]:
    """Return the links to other servers on the page of a stuck experiment, by their texts."""
    stuck = Condition(ConditionType.STUCK, True, reason, "", 1, NOW)
    heard = answer(RankState.ARRIVED, RankState.ARRIVED, RankState.MISSING, RankState.ARRIVED)
    one = Subject(
        plan(), record(phase=Phase.ASSEMBLING, conditions=(stuck,)), view(pod(0), pod(1), WAITING, pod(3), heard=heard)
    )
    seats = benches(one.at(NOW))
    main, _ = story(detail(one.at(NOW), {}), seats, {}, role="", now=NOW, runbooks=Runbooks(base))
    found = re.findall(r'<a href="([^"]*)" rel="noopener noreferrer" class="[^"]*">([^<]*)</a>', main.html)
    assert main.html.count("noopener") == len(found)
    return {text: href for href, text in found}


def test_the_reason_of_stuck_and_each_cause_lead_to_their_runbooks() -> None:
    assert links("https://docs.example/runbooks/") == {
        "stuck (RanksMissing)": "https://docs.example/runbooks/ranks.md#musterrankmissing",
        "Runbook": "https://docs.example/runbooks/refusals.md#musterimagenotpulled",
    }


@pytest.mark.parametrize("base", ["", "javascript:alert(1)", "//evil.example", "data:text/html,x", "ftp://x/y"])
def test_without_an_address_of_the_web_there_are_no_links(base: str) -> None:
    assert links(base) == {}


@pytest.mark.parametrize("reason", ["../../up", '"><script>', "a?b#c", "javascript:alert(1)"])
def test_a_reason_is_never_a_part_of_an_address(reason: str) -> None:
    addresses = set(links("https://docs.example", reason).values())
    assert addresses == {
        f"https://docs.example/{PLACES[name]}" for name in ("MusterExperimentStuck", "MusterImageNotPulled")
    }


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://x y", 'https://x">', "file:///etc", "x"])
def test_a_setting_that_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="runbook_url"):
        Settings(runbook_url=url)


def test_the_page_leads_to_the_runbooks_that_musterd_serves_unless_a_setting_names_another_place() -> None:
    assert Settings().runbook_url == SERVED
    assert set(links(SERVED).values()) == {
        f"{SERVED}/{PLACES[name]}" for name in ("MusterRankMissing", "MusterImageNotPulled")
    }
    assert Settings(runbook_url="").runbook_url == ""


ROW = re.compile(
    r'<th scope="row">([^<]*)</th>.*?width="(\d+)%" height="100%" class="fill (\w+)".*?class="number">([^<]*)<'
)


def rows(counting: str = "", **seconds: int) -> list[tuple[str, ...]]:
    return ROW.findall(str(goodput(TimeReport(basis="steps", seconds=seconds, counting=counting)).html))


def test_a_bucket_with_time_is_a_bar_as_long_as_its_part() -> None:
    assert rows(productive=600, checkpoint_save=59, stuck=341) == [
        ("productive", "60", "ok", "10m"),
        ("checkpoint save", "6", "warn", "59s"),
        ("stuck", "34", "bad", "5m41s"),
    ]


def test_a_second_more_is_no_other_picture() -> None:
    assert rows("productive", productive=6001, stuck=3) == rows("productive", productive=6002, stuck=3)


def test_the_time_of_a_bucket_that_does_not_grow_is_whole() -> None:
    shown = {name: time for name, _, _, time in rows("productive", productive=28, assembly=15, stuck=7)}
    assert shown == {"productive": "over 20s", "assembly": "15s", "stuck": "7s"}


def test_the_rows_add_up_and_only_the_one_that_counts_changes_with_a_second() -> None:
    sums = {Bucket.PRODUCTIVE: 61_400, Bucket.ASSEMBLY: 14_600, Bucket.STARTUP: 20_600, Bucket.STUCK: 400}
    seen = [whole_seconds({**sums, Bucket.PRODUCTIVE: 61_400 + more}, "productive") for more in range(0, 3000, 70)]
    for more, found in zip(range(0, 3000, 70), seen, strict=True):
        assert sum(found.values()) == round((sum(sums.values()) + more) / 1000)
        assert (found[Bucket.ASSEMBLY], found[Bucket.STARTUP], found[Bucket.STUCK]) == (15, 21, 0)
    over = whole_seconds(sums)
    assert (sum(over.values()), over[Bucket.ASSEMBLY]) == (97, 15)


def test_what_is_not_known_without_steps_is_reported() -> None:
    words = "lost work, pauses and the startup of programs are not known"
    assert words in str(goodput(TimeReport(basis="phase", seconds={"productive": 5})).html)
    assert words not in str(goodput(TimeReport(basis="steps", seconds={"productive": 5})).html)


def test_the_document_has_the_sums_until_now() -> None:
    story = Timed()
    story.assemble()
    story.look(100)
    found = detail(Context.at(story.plan, story.kept, story.view, story.now), {}).time
    ways = {each.value: 1 for each in (Bucket.SCHEDULING, Bucket.ASSEMBLY)}
    assert found == TimeReport(basis="phase", seconds={**ways, Bucket.PRODUCTIVE.value: 100}, counting="productive")
    assert detail(Context.at(plan(), record(phase=Phase.RUNNING), view(), NOW)).time is None
