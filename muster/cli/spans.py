"""Times for the eye: how long ago, how long yet, and the time of day."""

from datetime import UTC, datetime

from muster.api.ages import age


def since(then: float | None, now: float) -> str:
    """How long ago ``then`` was; empty where it is not known."""
    return "" if then is None else age(max(0.0, now - then))


def left(then: float | None, now: float) -> str:
    """How long it is until ``then``; empty where there is no such time, ``0s`` once it has passed."""
    return "" if then is None else age(max(0.0, then - now))


def of_day(then: float | None) -> str:
    """The time of day of ``then`` in this machine's time zone, or dashes."""
    return "--:--:--" if then is None else datetime.fromtimestamp(then, UTC).astimezone().strftime("%H:%M:%S")
