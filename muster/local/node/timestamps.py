"""RFC 3339 timestamps of a kubelet, from nanoseconds since 1970. The clock is always an argument."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
"""Returns wall-clock time in nanoseconds since 1970 (`time.time_ns`, or a test's clock)."""

SECOND = 1_000_000_000


def time(nanoseconds: int) -> str:
    """A metav1.Time: whole seconds."""
    return datetime.fromtimestamp(nanoseconds // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(nanoseconds: int) -> str:
    """A metav1.MicroTime, which Leases use."""
    whole, rest = divmod(nanoseconds, SECOND)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def nano_time(nanoseconds: int) -> str:
    """The timestamp of a log line. It always has nine digits, so that timestamps sort as text."""
    whole, rest = divmod(nanoseconds, SECOND)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
