"""The page of 10,000 ranks in a real Chromium: CPU of the process that parses, lays out, paints and runs the script.

It is the CPU of all threads of that process from the request until the second frame after the load, in the best of
several loads of the same tab. Time at a clock would be that of the machine's other work. The page is to be there within
a second: what the server leaves of it (``page.BUDGET``) is the browser's.
"""

import sys
import time

from benchmarks.harness.result import Result
from benchmarks.pages.page import BUDGET as SERVER

BUDGET = 1.0 - SERVER
"""Seconds."""
LOADS = 5
_PATH = "/experiments/vision/ten-thousand?refresh=no"
_DRAWN = """
const done = arguments[0];
const drawn = () => requestAnimationFrame(() => requestAnimationFrame(() => done(
  document.querySelectorAll('.ranks [role="cell"]').length)));
if (document.readyState === "complete") drawn(); else addEventListener("load", drawn);
"""


def run() -> list[Result]:
    """Measure where there is a Chromium; else say why not, and measure nothing."""
    try:
        from tests.browser.chromium import Unavailable, chromium
        from tests.browser.site import site
        from tests.browser.virtual_fleet import BIG, big, fleet
    except ModuleNotFoundError as missing:
        return _skipped(f"{missing.name} is not installed")
    there = fleet(time.time())
    there.put(big(time.time()))
    least = float("inf")
    try:
        with site(there) as served, chromium() as browser:
            browser.set_script_timeout(120)
            browser.execute_cdp_cmd("Performance.enable", {})

            def cpu() -> float:
                found = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
                return next(float(each["value"]) for each in found if each["name"] == "ProcessTime")

            browser.get(f"{served.address}{_PATH}")
            for _ in range(LOADS):
                began = cpu()
                browser.get(f"{served.address}{_PATH}")
                cells = int(browser.execute_async_script(_DRAWN))
                least = min(least, cpu() - began)
    except Unavailable as reason:
        return _skipped(str(reason))
    return [
        Result.of("page of 10,000 ranks, CPU of the browser until it is drawn", least, "s", BUDGET),
        Result.of("of 10,000 ranks not in the browser", BIG - cells, "ranks", 0),
    ]


def _skipped(why: str) -> list[Result]:
    print(f"page of 10,000 ranks in the browser: skipped: {why}", file=sys.stderr)
    return []
