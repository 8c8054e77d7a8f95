"""The links of the page to the runbooks."""

import re
from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from muster.daemon.settings import Settings
from muster.daemon.web.page.document import Runbooks
from muster.daemon.web.page.experiment import story
from muster.metrics.collector import Subject
from muster.metrics.runbooks import PLACES, SERVED
from muster.rollcall.make import detail
from muster.rollcall.seats import benches
from muster.state.view.roll import RankState
from muster.state.vocabulary.pod import PodPhase
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, answer, plan, pod, record, view

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


def test_the_page_leads_to_the_runbooks_that_musterd_serves_unless_a_setting_says_otherwise() -> None:
    assert Settings().runbook_url == SERVED
    assert set(links(SERVED).values()) == {
        f"{SERVED}/{PLACES[name]}" for name in ("MusterRankMissing", "MusterImageNotPulled")
    }
    assert Settings(runbook_url="").runbook_url == ""
