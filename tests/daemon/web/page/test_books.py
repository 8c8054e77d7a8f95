"""The runbooks that musterd serves itself."""

import re

import pytest
from aiohttp import ClientSession

from deploy.prometheus.groups import ALERTS
from muster.daemon.web.page.runbooks import book
from muster.metrics.runbooks import SERVED
from tests.daemon.web.ground import Ground

HREF = re.compile(r'<a href="([^"]*)"')


@pytest.mark.parametrize("alert", [alert.name for alert in ALERTS])
def test_the_runbook_of_each_alert_is_a_page_whose_links_lead_somewhere(alert: str) -> None:
    page = book(f"{alert}.md")
    assert page is not None
    assert f"<h1>{alert}</h1>" in page
    assert "<!-- " not in page, "what is for the tests of the documentation is left out"
    assert [target for target in HREF.findall(page) if not book(target) and not target.startswith(("http", "#"))] == []


def test_a_runbook_leads_to_the_reasons_and_they_lead_back() -> None:
    assert "reasons.md" in HREF.findall(book("MusterExperimentStuck.md") or "")
    reasons = HREF.findall(book("reasons.md") or "")
    assert {f"{alert.name}.md" for alert in ALERTS} & set(reasons)
    assert [target for target in reasons if not book(target) and not target.startswith("#")] == []


async def test_runbooks_are_served_with_and_without_their_suffix_and_as_a_list(client: ClientSession) -> None:
    for path in ("", "README.md", "MusterHung", "MusterHung.md"):
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
    assert (await ground.get(f"{SERVED}/MusterHung.md"))[0] == 200
    assert (await ground.get("/"))[0] == 401
    assert (await ground.get(f"{SERVED}/MusterHung.md", Host="evil.example"))[0] == 421
