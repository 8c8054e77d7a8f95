"""Images are names only: nothing is pulled, and pods run on the host's files.

One family of names stands for an image that does not exist, so that its states can be seen and tested:
`missing/<anything>` and `<anything>/missing:<tag>` go through ErrImagePull and ImagePullBackOff for ever.
"""

from __future__ import annotations

import re

_MISSING = re.compile(r"(?:missing/.*|(?:.*/)?missing(?::.*)?)", re.DOTALL)
PULL_RETRY = 10.0
"""Seconds before the second attempt to pull; doubles, up to `restarts.LONGEST`."""


def missing(image: str) -> bool:
    """Whether an image name stands for one that cannot be pulled."""
    return _MISSING.fullmatch(image) is not None


def pull_error(image: str) -> tuple[str, str]:
    """The waiting reason and message of the failed pull."""
    return "ErrImagePull", f'failed to pull and unpack image "{image}": not found'


def pull_back_off(image: str) -> tuple[str, str]:
    """The waiting reason and message between attempts."""
    return "ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {pull_error(image)[1]}'
