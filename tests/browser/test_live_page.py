"""The page in a real Chromium: it follows the daemon, keeps the reader's place, and obeys its own policy."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from muster.state.view.roll import RankState
from muster.state.vocabulary.record import Phase
from tests.browser.conftest import Open
from tests.browser.site import Site
from tests.browser.virtual_fleet import BIG, big, made, rank_missing, training
from tests.builders import answer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

WITHIN = 30
"""Seconds in which what must happen in the browser has happened, on a busy machine."""

ONE = "/experiments/vision/vit-huge"


def until(browser: Chrome, holds: Callable[[Chrome], object]) -> None:
    WebDriverWait(browser, WITHIN, poll_frequency=0.1).until(holds)


def text(browser: Chrome, selector: str) -> str:
    """The text of the first such element; read in one step, for the page may replace an element that was found."""
    script = "return document.querySelector(arguments[0])?.innerText ?? ''"
    return str(browser.execute_script(script, selector)).strip()


def title(element: WebElement) -> str:
    return element.get_attribute("title") or ""


def live(browser: Chrome) -> None:
    """Wait until the stream is open."""
    until(browser, lambda b: text(b, "#live") == "live")


def complaints(browser: Chrome) -> list[str]:
    """What the console holds: errors of the script, and violations of the policy."""
    return [entry["message"] for entry in browser.get_log("browser")]  # type: ignore[no-untyped-call]


def test_a_page_of_one_follows_the_daemon_without_a_reload(here: Site, browse: Open) -> None:
    browser = browse()
    browser.get(f"{here.address}{ONE}")
    live(browser)
    browser.execute_script("window.loadedOnce = true")
    assert text(browser, "#sentence .words").startswith("54/64 ranks arrived")
    now = time.time()
    groups = rank_missing(now).plan.groups
    all_there = answer(*[RankState.CONNECTED] * 64, at=now)
    well = made("vision", "vit-huge", groups=groups, phase=Phase.RUNNING, phase_at=now, heard=all_there)
    well = replace(well, record=changed(well.record, message="64/64 ranks arrived"))
    here.put(well)
    until(browser, lambda b: text(b, "#sentence .words") == "64/64 ranks arrived")
    assert not browser.find_elements(By.ID, "causes")
    assert browser.execute_script("return window.loadedOnce === true")
    assert complaints(browser) == []


def test_the_fleet_follows_the_daemon_and_keeps_what_the_reader_types(here: Site, browse: Open) -> None:
    browser = browse()
    browser.get(here.address)
    live(browser)
    field = browser.find_element(By.ID, "filter-q")
    field.send_keys("sweep")
    here.put(made("robots", "newcomer", phase=Phase.RUNNING, phase_at=time.time(), started_at=time.time()))
    until(browser, lambda b: "29 experiments" in text(b, "#sums"))
    assert browser.find_element(By.ID, "filter-q").get_attribute("value") == "sweep"
    assert browser.switch_to.active_element.get_attribute("id") == "filter-q"
    assert "newcomer" in text(browser, "#rows")
    assert complaints(browser) == []


def test_filters_are_links_and_a_form_that_lead_to_addresses(here: Site, browse: Open) -> None:
    browser = browse()
    browser.get(here.address)
    names = [row.text for row in browser.find_elements(By.CSS_SELECTOR, "#rows th a")]
    assert names[:2] == ["grasp-rl", "vit-huge"]
    browser.find_element(By.PARTIAL_LINK_TEXT, "restarting").click()
    until(browser, lambda b: b.current_url.endswith("/?problem=restarting"))
    assert len(browser.find_elements(By.CSS_SELECTOR, "#rows tr")) == 4
    Select(browser.find_element(By.ID, "filter-namespace")).select_by_value("robots")
    until(browser, lambda b: "namespace=robots" in b.current_url and "problem=restarting" in b.current_url)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#rows tr")) == 2
    assert complaints(browser) == []


def test_the_grid_is_walked_with_the_arrow_keys(here: Site, browse: Open) -> None:
    browser = browse()
    browser.get(f"{here.address}{ONE}")
    live(browser)
    first = browser.find_element(By.CSS_SELECTOR, '.ranks [tabindex="0"]')
    assert title(first).startswith("rank 13 image not pulled")
    browser.execute_script("arguments[0].focus()", first)
    for key, rank in ((Keys.ARROW_RIGHT, 14), (Keys.HOME, 0), (Keys.END, 63), (Keys.ARROW_LEFT, 62)):
        browser.switch_to.active_element.send_keys(key)
        assert title(browser.switch_to.active_element).startswith(f"rank {rank} ")
        assert text(browser, "#pointed").startswith(f"rank {rank} ")
    browser.switch_to.active_element.send_keys(Keys.ARROW_UP)
    above = title(browser.switch_to.active_element)
    assert above.startswith("rank ")
    assert not above.startswith("rank 62 ")


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(here: Site, browse: Open) -> None:
    browser = browse()
    browser.get(here.address)
    live(browser)
    reached = []
    for _ in range(20):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        reached.append(focused.text or focused.get_attribute("id"))
        assert browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert reached[0] == "Skip to the content"
    assert reached.index("28 all") < reached.index("filter-q") < reached.index("grasp-rl") < reached.index("vit-huge")


def test_times_are_in_the_zone_of_the_reader(here: Site, browse: Open) -> None:
    browser = browse()
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    browser.get(f"{here.address}{ONE}")
    live(browser)
    shown = browser.find_element(By.CSS_SELECTOR, "#story time")
    assert "GMT+9" in title(shown)
    assert "UTC" not in shown.text


def test_ten_thousand_ranks_are_laid_out(here: Site, browse: Open) -> None:
    here.put(big(time.time()))
    browser = browse()
    browser.get(f"{here.address}/experiments/vision/ten-thousand")
    live(browser)
    assert len(browser.find_elements(By.CSS_SELECTOR, ".ranks b")) == BIG
    assert browser.execute_script("return document.getElementById('ranks').getBoundingClientRect().height") > 300
    assert complaints(browser) == []


def test_a_tab_that_is_hidden_holds_no_stream(here: Site, browse: Open) -> None:
    browser = browse()
    browser.get(f"{here.address}{ONE}")
    live(browser)
    first = browser.current_window_handle
    assert here.streams.open == 1
    browser.switch_to.new_window("tab")
    browser.get("about:blank")
    until(browser, lambda _: here.streams.open == 0)
    browser.switch_to.window(first)
    until(browser, lambda _: here.streams.open == 1)


def test_a_straggler_is_seen_in_the_grid_and_in_the_numbers(here: Site, browse: Open) -> None:
    here.put(training(time.time()))
    browser = browse()
    browser.get(f"{here.address}/experiments/speech/conformer")
    late = [title(cell) for cell in browser.find_elements(By.CSS_SELECTOR, ".ranks b.warn")]
    assert [each.split(",")[0] for each in late] == ["rank 37 arrived", "rank 90 arrived"]
    assert "37,90" in text(browser, "#progress")
