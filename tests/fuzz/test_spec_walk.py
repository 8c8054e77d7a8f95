"""Every leaf of the spec meets every kind of value, and a bad spec leaves no trace once the good one is back."""

import pytest

from tests.fuzz.walk import walk


@pytest.mark.timeout(300)
def test_every_leaf_meets_every_kind_of_value() -> None:
    stops, wrong = walk()
    assert wrong == []
    assert stops > 5_000
