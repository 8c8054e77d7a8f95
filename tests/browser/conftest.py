"""A fleet that is served, and a browser that looks at it. Without Chromium the tests are skipped, with the reason."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from selenium.webdriver import Chrome

from tests.browser.chromium import Unavailable, chromium
from tests.browser.site import Site, site
from tests.browser.virtual_fleet import fleet

Open = Callable[..., Chrome]


@pytest.fixture
def here() -> Iterator[Site]:
    """The virtual fleet, served."""
    with site(fleet(time.time())) as served:
        yield served


@pytest.fixture
def browse() -> Iterator[Open]:
    """Starts a browser; the options are those of ``chromium``."""
    with ExitStack() as stack:

        def start(**options: object) -> Chrome:
            try:
                return stack.enter_context(chromium(**options))  # type: ignore[arg-type]
            except Unavailable as reason:
                pytest.skip(str(reason))

        yield start
