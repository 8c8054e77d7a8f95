"""Image pulls. Images are names only: nothing is pulled, and pods run with the host's files.

Some names are treated as images that do not exist, so that the failed states can be seen and tested:
`missing/<anything>` and `<anything>/missing:<tag>` alternate between ErrImagePull and ImagePullBackOff.
"""

import re

_MISSING = re.compile(r"(?:missing/.*|(?:.*/)?missing(?::.*)?)", re.DOTALL)
PULL_RETRY = 10.0
"""Seconds before the second attempt to pull; doubles, up to `restarts.LONGEST`."""


def missing(image: str) -> bool:
    """Whether an image name is treated as one that does not exist."""
    return _MISSING.fullmatch(image) is not None


def repository(image: str) -> str:
    """The name of an image without its tag and digest."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def pull_error(image: str) -> tuple[str, str]:
    """Reason and message of the waiting state after a failed pull."""
    return "ErrImagePull", f'failed to pull and unpack image "{image}": not found'


def pull_back_off(image: str) -> tuple[str, str]:
    """Reason and message of the waiting state between attempts."""
    return "ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {pull_error(image)[1]}'
