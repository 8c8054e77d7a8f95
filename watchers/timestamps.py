"""Kubernetes times (RFC 3339) as wall seconds, for data that may be nonsense."""

from datetime import datetime

_SHORTEST, _LONGEST = 20, 40


def seconds_of(text: str | None) -> float:
    """Wall seconds since 1970 of an RFC 3339 time; 0.0 for anything that is not one, Go's zero time included.

    Never raises. ``metav1.Time`` has whole seconds and a ``Z``, ``metav1.MicroTime`` six digits; digits beyond the
    sixth are dropped.
    """
    if not text or not _SHORTEST <= len(text) <= _LONGEST or text[10] != "T" or text[5] == "W":
        return 0.0
    try:
        moment = datetime.fromisoformat(text)
        return max(0.0, moment.timestamp()) if moment.tzinfo is not None else 0.0
    except (ValueError, OverflowError):
        return 0.0
