"""What all tests of ``state`` share."""

import pytest

from muster.api.wire import structs


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    """No test is answered from what another has left behind: a mutant could hide there."""
    structs._read_once.cache_clear()
    structs._written_once.cache_clear()
