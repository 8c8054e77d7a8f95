"""Every leaf of the spec takes every kind of value, and a bad spec leaves no trace once a good one is back.

One seventh of the values here; ``python -m tests.fuzz`` tries them all.
"""

import pytest

from tests.fuzz.walk import walk

pytestmark = pytest.mark.slow


def test_every_leaf_of_a_spec_takes_every_kind_of_value_without_harm() -> None:
    stops, wrong = walk(every=7)
    assert wrong == []
    assert stops > 1_000
