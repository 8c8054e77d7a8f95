"""Times as people read them: ages, time left, time of day."""

from datetime import UTC, datetime, tzinfo

from muster.api.values.humanize import age
from muster.client.snapshot import Snapshot

NO_TIME = "--:--:--"


def clock_left(seen: Snapshot, now: float) -> str:
    """Return the time that is left until the deadline; nothing once the experiment has finished."""
    return "" if seen.finished else left(seen.deadline, now)


def since(then: float | None, now: float) -> str:
    """Return the time since ``then``; empty if it is not known."""
    return "" if then is None else age(max(0.0, now - then))


def left(then: float | None, now: float) -> str:
    """Return the time until ``then``; empty if there is no such time, ``0s`` once it has passed."""
    return "" if then is None else age(max(0.0, then - now))


def of_day(then: float | None, zone: tzinfo | None = None) -> str:
    """Return the time of day of ``then`` in that zone (None: this machine's), or dashes."""
    if then is None:
        return NO_TIME
    try:
        return datetime.fromtimestamp(then, UTC).astimezone(zone).strftime("%H:%M:%S")
    except (ValueError, OverflowError):  # beyond the year 9999 in this zone
        return NO_TIME
