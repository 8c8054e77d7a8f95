"""The roll call of an experiment as one document, which page, SDK and command line read.

The words and tones here are those of facts in it. Page and command line share them, and differ in style alone.
"""

from collections.abc import Callable
from typing import Final

from muster.api.goodput import WASTED, Bucket
from muster.api.values.durations import age

TONES: Final = {
    "Queued": "soon",
    "Pending": "soon",
    "Assembling": "soon",
    "Running": "ok",
    "Restarting": "warn",
    "Suspended": "none",
    "Succeeded": "over",
    "Failed": "bad",
}
"""The tones of the phases."""


def tone_of(bucket: Bucket) -> str:
    """Return the tone of time in that bucket: what is neither productive nor wasted warns."""
    return "ok" if bucket is Bucket.PRODUCTIVE else "bad" if bucket in WASTED else "warn"


def stuck(reason: str) -> str:
    """Return ``stuck (RanksMissing)``."""
    return f"stuck ({reason})"


def until(seconds: float, show: Callable[[float], str] = age) -> str:
    """Return ``5m left`` of a clock, or ``over since 5m``."""
    return f"{show(seconds)} left" if seconds >= 0 else f"over since {show(-seconds)}"


def deleted_by(retention: float | None) -> str:
    """Return what sets the time of a deletion; ``retention`` is None if the installation does not."""
    return "the ttl of its spec" if retention is None else f"the retention of the installation ({age(retention)})"
