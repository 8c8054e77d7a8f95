"""The link to the bundle of a run in a real Chromium, which sends the token that it was asked for."""

import sys
import time
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from muster.daemon.web.bundles import Bundles
from muster.daemon.web.readers import TokenAuthenticator
from muster.daemon.web.reviews import Reviews
from muster.kube.authentication.credentials import ClusterAccess
from tests.browser.conftest import Open
from tests.browser.site import site
from tests.browser.test_live_page import complaints, live, until
from tests.browser.virtual_fleet import fleet
from tests.daemon.web.ground import Api

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

WRITES_ITS_ORDER = (sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())")


def test_the_link_downloads_the_bundle_and_the_page_stays_live(browse: Open, tmp_path: Path) -> None:
    reviews = Reviews(Api({"anns": "ann"}, {("ann", "get", "vision")}), time.monotonic)
    made = Bundles(lambda token: ClusterAccess("http://127.0.0.1:1", f"Bearer {token}"), WRITES_ITS_ORDER)
    with site(fleet(time.time()), TokenAuthenticator(reviews), made) as here:
        browser = browse()
        browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
        address = here.address.replace("http://", "http://anyone:anns@")
        browser.get(f"{address}/experiments/vision/vit-huge")
        live(browser)
        link = browser.find_element(By.PARTIAL_LINK_TEXT, "Download the bundle")
        browser.execute_script("window.loadedOnce = true; arguments[0].scrollIntoView({block: 'center'})", link)
        link.click()
        file = tmp_path / "vision-vit-huge.tar.gz"
        until(browser, lambda _: file.exists())
        assert '"name":"vit-huge"' in file.read_text()
        assert '"authorization":"Bearer anns"' in file.read_text()
        live(browser)
        assert browser.execute_script("return window.loadedOnce === true")
        assert complaints(browser) == []
