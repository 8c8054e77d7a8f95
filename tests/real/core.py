"""The core: situations that no cheaper world asks, the quickest that show most. Their mark is ``core``.

CI plays them at each change, beside the other tests; the nightly plays all. They are about what only this world has: an
API server that evaluates policies, the rules of the kind and rights; the scheduler and the controllers; an etcd that is
restored; and on nodes what a kubelet writes, containers, DNS and networks. What the simulation, a smoke test or a
stand-in asks as truly is not among them.
"""

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def with_core(rows: Iterable[str], *core: str) -> list[ParameterSet]:
    """Parameters of a test; some are of the core."""
    return [pytest.param(row, id=row, marks=[pytest.mark.core] * (row in core)) for row in rows]
