"""What each look at the words of tenants costs on the event loop, at the bound of its input.

The rows are those of ``tests.bounds``, which shows that each look is linear. A figure is CPU time, the best of five.
"""

from time import thread_time

from benchmarks.harness.result import Result
from tests.bounds.rows import HOLD, ROWS, Row


def run() -> list[Result]:
    """A figure for each row."""
    return [Result.of(f"hold: {row.name}, {row.most:,}", round(milliseconds(row), 2), "ms", HOLD) for row in ROWS]


def milliseconds(row: Row) -> float:
    """The best of five looks, in CPU milliseconds."""
    look, best = row.make(row.most), float("inf")
    for _ in range(5):
        began = thread_time()
        look()
        best = min(best, thread_time() - began)
    return 1000 * best
