"""Nanoseconds since 1970 as the two RFC 3339 forms a kubelet writes. The clock itself is always an argument."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
"""Wall-clock time in nanoseconds since 1970 (`time.time_ns`, or a test's own)."""

SECOND = 1_000_000_000


def time(nanoseconds: int) -> str:
    """A Kubernetes Time: whole seconds."""
    return datetime.fromtimestamp(nanoseconds // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(nanoseconds: int) -> str:
    """A Kubernetes MicroTime, as Leases hold it."""
    whole, rest = divmod(nanoseconds, SECOND)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def nano_time(nanoseconds: int) -> str:
    """The stamp of a log line: always nine digits, so that stamps sort as text."""
    whole, rest = divmod(nanoseconds, SECOND)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
