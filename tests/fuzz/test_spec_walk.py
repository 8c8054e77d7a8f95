"""Every leaf of the spec meets every kind of value, and a bad spec leaves no trace once the good one is back.

Here one stop of seven; ``python -m tests.fuzz`` walks them all.
"""

import pytest

from tests.fuzz.walk import walk


@pytest.mark.timeout(300)
def test_leaves_meet_every_kind_of_value() -> None:
    stops, wrong = walk(every=7)
    assert wrong == []
    assert stops > 1_000
