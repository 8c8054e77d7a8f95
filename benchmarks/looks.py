"""What each look at the words of tenants costs on the event loop, at the bound of its input.

The rows are those of ``tests.bounds``, which shows that each look is linear. A figure is CPU time, the best of five: of
the longest turn, for that long the loop does nothing else, and of all turns together.
"""

import gc
from collections.abc import Iterator
from time import thread_time
from types import GeneratorType

from benchmarks.harness.result import Result
from tests.bounds.rows import HOLD, ROWS, Row


def run() -> list[Result]:
    """Two figures for each row, and no budget for a whole look."""
    found = []
    for row in ROWS:
        longest, whole = milliseconds(row, row.most)
        name = f"{row.name}, {row.most:,}"
        found.append(Result.of(f"hold: {name}", round(longest, 2), "ms", HOLD))
        found.append(Result.of(f"whole look: {name}", round(whole, 2), "ms"))
    return found


def milliseconds(row: Row, size: int, times: int = 5) -> tuple[float, float]:
    """The best of some looks, in CPU milliseconds: its longest turn, and all of its turns.

    What exists before is kept from the garbage collector, as musterd keeps what exists at its start.
    """
    look, best = row.make(size), (float("inf"), float("inf"))
    gc.freeze()
    try:
        for _ in range(times):
            turns = list(_turns(look))
            best = min(best[0], max(turns)), min(best[1], sum(turns))
    finally:
        gc.unfreeze()
    return 1000 * best[0], 1000 * best[1]


def _turns(look: object) -> Iterator[float]:
    assert callable(look)
    began = thread_time()
    found = look()
    if not isinstance(found, GeneratorType):
        yield thread_time() - began
        return
    for _ in found:
        yield thread_time() - began
        began = thread_time()
    yield thread_time() - began
