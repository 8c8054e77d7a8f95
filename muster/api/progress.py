"""What a program and the daemon agree on about progress: names, bounds and pace of the reports of ranks.

A rank writes its report as one small value under ``KEYS/<rank>`` into the key-value store of jax's coordination
service, over the one before, and the probe reads all of them in one call. Each value is a JSON object::

    {"step": 1840, "calls": 1841, "at": 512.25, "longest": 2.5, "pause": 900, "scalars": {"loss": 2.31}}

``at`` is the program's own monotonic clock, so that steps per second need no agreement between clocks. ``longest`` is
the longest time between two calls of ``report``, in seconds, without pauses that were announced. ``pause`` is there
while the program has announced one: that many seconds without a further report are no hang.

Only the standard library is used here, because training programs import it.
"""

KEYS = "muster/progress"
"""The directory of the keys."""
MAX_STEP = (1 << 53) - 1
"""The largest whole number that every reader of JSON has exactly."""
MAX_SCALARS = 8
MAX_SCALAR_NAME = 32
MAX_VALUE = 1024
"""Bytes of one rank's value."""

FASTEST, SLOWEST = 1.0, 20.0
"""Seconds between two values of one rank, in a gang of at most 200 and of at least 4,000 processes."""
VALUES_PER_SECOND = 200
"""How many values process 0 takes from the whole gang between those sizes."""


def report_interval(processes: int) -> float:
    """The seconds between two values of one rank, in a gang of that many processes."""
    return min(max(processes / VALUES_PER_SECOND, FASTEST), SLOWEST)
