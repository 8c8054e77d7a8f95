"""The runbooks that musterd serves itself."""

import re

import pytest
from aiohttp import ClientSession

from deploy.prometheus.groups import ALERTS
from muster.daemon.web.page.document import book
from muster.metrics.runbooks import PAGES, PLACES, SERVED
from tests.daemon.web.ground import Ground

HREF = re.compile(r'<a href="([^"]*)"')


def lost(page: str) -> list[str]:
    """Return the links of a page of musterd whose page or heading it does not serve."""
    html = book(page) or ""
    there = [target.partition("#") for target in HREF.findall(html) if not target.startswith("http")]
    found = [(path, anchor, (book(path) or "") if path else html) for path, _, anchor in there]
    return [f"{path}#{anchor}" for path, anchor, text in found if (f'id="{anchor}"' if anchor else "<h1") not in text]


@pytest.mark.parametrize("name", ["README", "reasons", *PAGES])
def test_each_page_of_runbooks_has_a_title_and_links_that_lead_to_a_heading(name: str) -> None:
    page = book(f"{name}.md")
    assert page is not None
    assert '<h1 id="' in page
    assert "<!-- " not in page, "what is for the tests of the documentation is left out"
    assert lost(name) == []


def test_a_runbook_leads_to_the_reasons_and_they_lead_back() -> None:
    assert "reasons.md#stuck" in HREF.findall(book("ranks.md") or "")
    assert {PLACES[alert.name] for alert in ALERTS} & set(HREF.findall(book("reasons.md") or ""))
    assert set(PLACES.values()) <= set(HREF.findall(book("README.md") or ""))


async def test_the_name_of_an_alert_leads_to_its_heading(client: ClientSession) -> None:
    """Tables of alerts on dashboards have the name alone; rules of an older release have the name with its suffix."""
    for alert, place in PLACES.items():
        for path in (alert, f"{alert}.md"):
            async with client.get(f"{SERVED}/{path}") as response:
                assert (response.status, response.url.path) == (200, f"{SERVED}/{place.partition('#')[0]}")
                assert [each.headers["Location"] for each in response.history] == [place]


async def test_runbooks_are_served_with_and_without_their_suffix_and_as_a_list(client: ClientSession) -> None:
    for path in ("", "README.md", "ranks", "ranks.md"):
        async with client.get(f"{SERVED}/{path}") as response:
            assert (response.status, response.content_type) == (200, "text/html")
            assert "MusterHung" in await response.text()
            assert "default-src 'none'" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "name", ["MusterNothing.md", "..%2f..%2fpyproject.toml", "%2fetc%2fpasswd", "README.md%00", "x/y"]
)
async def test_nothing_but_runbooks_is_served(client: ClientSession, name: str) -> None:
    async with client.get(f"{SERVED}/{name}") as response:
        assert response.status == 404


async def test_a_runbook_is_read_without_a_token_and_by_the_names_of_musterd_only(ground: Ground) -> None:
    assert (await ground.get(f"{SERVED}/ranks.md"))[0] == 200
    assert (await ground.get("/"))[0] == 401
    assert (await ground.get(f"{SERVED}/ranks.md", Host="evil.example"))[0] == 421
