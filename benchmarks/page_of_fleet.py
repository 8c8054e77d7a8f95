"""The page of 100,000 experiments, and its JSON listing: CPU of one answer, and how long it blocks the event loop.

Both walk over all experiments in slices, between which the loop continues. In the usual cluster 2,000 of them run with
a missing rank, and the others have finished; in the worst one all of them run.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from benchmarks.harness.loop_lag import LAG_BUDGET, cost
from benchmarks.harness.report import Result
from benchmarks.page import Index
from benchmarks.scrape import NOW, subjects
from muster.daemon.web.fleet import MOST, Query, listing
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import Anyone

EXPERIMENTS, RUNNING = 100_000, 2_000
BUDGET = 5.0
"""Seconds of CPU, also where all of them run: half of what a request may take."""


def run() -> list[Result]:
    """Answer as the server does, without the socket."""
    results = []
    query = Query.of([("problem", "missing"), ("limit", str(MOST))])
    for among, running in ((f"{RUNNING:,} of them running", RUNNING), ("all of them running", EXPERIMENTS)):
        index = Index(subjects(running, EXPERIMENTS - running, running))
        pages = Pages(index, lambda: "leading", lambda: NOW + 60, "https://example.org/runbooks")
        answers: dict[str, Callable[[], Awaitable[object]]] = {
            "page": partial(pages.fleet, Anyone(), {}),
            "listing of what hurts": partial(listing, index.here, NOW + 60, query),
        }
        for name, answer in answers.items():
            cpu, lag, _ = cost(answer)
            what = f"{name} of {EXPERIMENTS:,} experiments, {among}"
            results.append(Result(f"{what}, CPU", cpu, "s", BUDGET))
            results.append(Result(f"{what}, loop lag p99", lag, "ms", LAG_BUDGET))
    return results
