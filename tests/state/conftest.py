"""What all tests of ``state`` share."""

import pytest

from muster.state import status


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    """No test is answered from what another has left behind: a mutant could hide there."""
    status._condition_once.cache_clear()
    status._line_once.cache_clear()
