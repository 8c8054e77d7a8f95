"""Advice if the program's Python does not have Muster's own modules.

``muster`` is often installed for itself, and the program runs with another Python, which lacks ``muster.jax``.
"""

import re
from collections.abc import Iterable
from typing import Final

from muster.extras import pip_argument

_LINE: Final = re.compile(r"ModuleNotFoundError: No module named 'muster(\.\w+)*'")


def hint(lines: Iterable[str], python: str | None) -> str:
    """Return how to install it, or do without, if a line shows that ``python`` lacks it; else empty."""
    if python is None or not any(_LINE.match(line) for line in lines):
        return ""
    return (
        f"{python} does not have muster.jax: {python} -m pip install '{pip_argument()}', "
        "or use the three lines of jax instead (docs/researcher.md)"
    )
