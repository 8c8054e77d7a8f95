"""Fixtures of all tests of ``state``."""

import pytest

from muster.api.wire import structs


@pytest.fixture(autouse=True)
def empty_caches() -> None:
    """Clear the caches of the status, so that no test reads a value that an earlier test, or a mutant, left there."""
    structs._read_once.cache_clear()  # noqa: SLF001 - clears a private cache
    structs._written_once.cache_clear()  # noqa: SLF001 - clears a private cache
