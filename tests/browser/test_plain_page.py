"""The page for everyone: without a script, in the dark, on a narrow screen, on paper, and with little motion."""

import time

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from muster.state.view.roll import RankState
from muster.state.vocabulary.record import Phase
from tests.browser.chromium import emulate, screen
from tests.browser.conftest import Open
from tests.browser.contrast import ratio, texts
from tests.browser.site import Site
from tests.browser.virtual_fleet import dead_rack, failed, hung, made, rank_missing
from tests.builders import answer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

PATHS = ("/", "/?problem=stuck", "/experiments/vision/vit-huge", "/experiments/speech/conformer")


def test_without_a_script_the_page_reloads_and_its_filters_work(here: Site, browse: Open) -> None:
    browser = browse(script=False)
    browser.get(here.address)
    assert browser.find_element(By.ID, "live").text == "reloads every 5 s"
    first = browser.find_element(By.ID, "main")
    WebDriverWait(browser, 30).until(lambda _: gone(first))  # by the meta element in the head
    browser.get(f"{here.address}/?refresh=no")
    browser.find_element(By.ID, "filter-q").send_keys("image")
    browser.find_element(By.CSS_SELECTOR, "form button").click()
    WebDriverWait(browser, 30).until(lambda b: "q=image" in b.current_url)
    assert [row.text for row in browser.find_elements(By.CSS_SELECTOR, "#rows th a")] == ["vit-huge"]
    browser.get(f"{here.address}/experiments/vision/vit-huge?refresh=no")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".ranks b")) == 64
    assert "UTC" in browser.find_element(By.CSS_SELECTOR, "#story time").text


def gone(element: object) -> bool:
    """Whether the document of that element is not shown any more."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

    try:
        element.is_enabled()  # type: ignore[attr-defined]
    except (StaleElementReferenceException, NoSuchElementException):
        return True
    return False


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_the_contrast_of_wcag_aa(here: Site, browse: Open, dark: bool) -> None:
    browser = browse(dark=dark)
    for path in PATHS:
        browser.get(f"{here.address}{path}")
        found = texts(browser)
        assert len(found) > 12
        poor = [(each.what, each.ink, each.paper) for each in found if ratio(each.ink, each.paper) < least(each.large)]
        assert poor == [], path


def least(large: bool) -> float:
    """WCAG 2.1, 1.4.3."""
    return 3.0 if large else 4.5


@pytest.mark.parametrize("width", [400, 1280])
def test_an_incident_is_first_with_its_runs_folded_and_before_them_stand_those_with_reasons_of_their_own(
    here: Site, browse: Open, width: int
) -> None:
    for each in dead_rack(time.time()):
        here.put(each)
    browser = browse()
    screen(browser, width, 900)
    browser.get(f"{here.address}/?refresh=no")
    (box,) = browser.find_elements(By.CSS_SELECTOR, ".incident")
    assert box.text.startswith("rack r3: NodeNotReady blocks 12 runs of 4 namespaces (24 ranks)")
    assert box.find_element(By.CLASS_NAME, "next").text.startswith("see what these nodes share")
    assert box.rect["y"] < 200
    assert not box.find_element(By.TAG_NAME, "a").is_displayed()
    box.find_element(By.TAG_NAME, "summary").click()
    assert [each.text for each in box.find_elements(By.TAG_NAME, "a")][:2] == [
        "genomics/pretrain-03",
        "genomics/pretrain-07",
    ]
    rows = browser.find_elements(By.CSS_SELECTOR, "#rows tr")
    explained = [number for number, row in enumerate(rows) if "explained by rack r3, above" in row.text]
    assert len(explained) == 12
    assert explained == list(range(explained[0], explained[0] + 12))
    assert {"grasp-rl", "vit-huge", "fold-small"} <= {
        row.find_element(By.CSS_SELECTOR, "th a").text for row in rows[: explained[0]]
    }
    assert overflow(browser) <= 0


@pytest.mark.parametrize("width", [320, 360])
def test_a_narrow_screen_needs_no_sideways_scrolling(here: Site, browse: Open, width: int) -> None:
    browser = browse()
    screen(browser, width)
    clocks = (
        "return Array.from(document.querySelectorAll('.clocks td')).map(c => c.getBoundingClientRect().right)"
        ".every(right => right <= window.innerWidth)"
    )
    for path in PATHS:
        browser.get(f"{here.address}{path}")
        assert overflow(browser) <= 0, path
        assert browser.execute_script(clocks), path


@pytest.fixture
def night(here: Site) -> Site:
    """40 experiments, of which three hurt."""
    now = time.time()
    here.fleet.here = [rank_missing(now), hung(now), failed(now)]
    for number in range(37):
        heard = answer(*[RankState.CONNECTED] * 8, at=now)
        here.put(made("robots", f"sweep-{number}", phase=Phase.RUNNING, phase_at=now, heard=heard))
    return here


def test_a_phone_shows_at_first_sight_what_hurts_and_what_to_do(night: Site, browse: Open) -> None:
    browser = browse()
    screen(browser, 360, mobile=True)
    browser.get(f"{night.address}/?refresh=no")
    seen = (
        "return Array.from(document.querySelectorAll(arguments[0]))"
        ".filter(e => e.getClientRects().length && e.getBoundingClientRect().bottom <= innerHeight)"
        ".map(e => e.innerText)"
    )
    assert browser.execute_script(seen, "#rows th a") == ["grasp-rl", "vit-huge", "fold-small"]
    message = browser.execute_script(seen, "#rows .message")
    assert "missing rank 13" in message[1]
    assert "ImagePullBackOff" in message[1]
    assert not browser.find_element(By.ID, "filter-q").is_displayed()
    browser.find_element(By.CSS_SELECTOR, "#choices summary").click()
    assert browser.find_element(By.ID, "filter-q").is_displayed()
    for name, step in (("vision/vit-huge", "kubectl describe node"), ("genomics/fold-small", "muster logs fold-small")):
        browser.get(f"{night.address}/experiments/{name}?refresh=no")
        assert step in " ".join(browser.execute_script(seen, ".next")), name


def test_forced_colours_leave_the_trouble_to_be_seen(here: Site, browse: Open) -> None:
    """Backgrounds are gone then: what is bad has a thick edge, beside its letter."""
    browser = browse()
    emulate(browser, "forced-colors", "active")
    browser.get(f"{here.address}/experiments/vision/vit-huge?refresh=no")
    edge = "return parseFloat(getComputedStyle(document.querySelector(arguments[0])).borderTopWidth)"
    widths = [browser.execute_script(edge, where) for where in (".ranks b.bad", ".ranks b.ok", ".badge.bad")]
    assert widths == [3, 1, 3]


def overflow(browser: Chrome) -> int:
    """Pixels by which the page is wider than the screen."""
    return int(browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth"))


def test_nothing_moves_for_a_reader_who_wants_no_motion(here: Site, browse: Open) -> None:
    browser = browse()
    moves = "return matchMedia('(prefers-reduced-motion: reduce)').matches"
    moving = (
        "document.getElementById('sentence').classList.add('fresh');"
        "return getComputedStyle(document.getElementById('sentence')).animationName"
    )
    for value, name in (("no-preference", "fresh"), ("reduce", "none")):
        emulate(browser, "prefers-reduced-motion", value)
        browser.get(f"{here.address}/experiments/vision/vit-huge?refresh=no")
        assert browser.execute_script(moves) is (value == "reduce")
        assert browser.execute_script(moving) == name


def test_on_paper_there_are_no_controls(here: Site, browse: Open) -> None:
    browser = browse()
    browser.get(f"{here.address}/?refresh=no")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.find_element(By.ID, "filters").is_displayed()
    assert browser.find_element(By.ID, "experiments").is_displayed()
