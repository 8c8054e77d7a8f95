"""``python -m tests.browser.pictures`` takes pictures of the roll-call page of the virtual fleet, for docs/images.

With addresses, files and heights it takes those: docs/images/roll_call.py does so of a real musterd.
"""

import argparse
import base64
import sys
import time
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.chromium import chromium, screen
from tests.browser.site import site
from tests.browser.virtual_fleet import big, dead_rack, fleet

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTH = 1280

PICTURES = {
    "page-fleet": ("/", 900, False),
    "page-rank-missing": ("/experiments/vision/vit-huge", 1330, False),
    "page-training": ("/experiments/speech/conformer", 1020, True),
    "page-10000-ranks": ("/experiments/vision/ten-thousand", 1290, True),
}
"""Path, height, and whether it is taken in the dark."""


def take(browser: Chrome, address: str, file: Path, height: int) -> None:
    """A picture of the page once it is live, from its top."""
    screen(browser, WIDTH, height)
    browser.get(address)
    WebDriverWait(browser, 60).until(lambda b: b.find_element(By.ID, "live").text == "live")
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    file.write_bytes(base64.b64decode(shot["data"]))
    sys.stdout.write(f"{file.name}  {file.stat().st_size / 1000:.0f} kB\n")


def main() -> None:
    """Take the pictures that the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.pictures", description=__doc__)
    parser.add_argument("--page", nargs=3, action="append", metavar=("ADDRESS", "FILE", "HEIGHT"), default=[])
    pages = parser.parse_args().page
    if pages:
        with chromium() as browser:
            for address, file, height in pages:
                take(browser, address, Path(file), int(height))
        return
    now = time.time()
    there = fleet(now)
    for each in (big(now), *dead_rack(now)):
        there.put(each)
    with site(there) as served:
        for name, (path, height, dark) in PICTURES.items():
            with chromium(dark=dark) as browser:
                take(browser, f"{served.address}{path}", IMAGES / f"{name}.png", height)


if __name__ == "__main__":
    main()
