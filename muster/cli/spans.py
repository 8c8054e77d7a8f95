"""Spans of time for the eye, as ``kubectl get`` writes them: two units at most, fewer the longer it is."""

from datetime import UTC, datetime


def span(seconds: float) -> str:
    """``95s``, ``5m30s``, ``2h15m``, ``3d``; of a negative span the size with a minus before it."""
    if seconds < 0:
        return f"-{span(-seconds)}"
    whole = int(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours, rest = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    return f"{hours // 24}d"


def since(then: float | None, now: float) -> str:
    """How long ago ``then`` was; empty where it is not known."""
    return "" if then is None else span(max(0.0, now - then))


def left(then: float | None, now: float) -> str:
    """How long it is until ``then``; empty where there is no such time, ``0s`` once it has passed."""
    return "" if then is None else span(max(0.0, then - now))


def of_day(then: float | None) -> str:
    """The time of day of ``then`` in this machine's time zone, or dashes."""
    return "--:--:--" if then is None else datetime.fromtimestamp(then, UTC).astimezone().strftime("%H:%M:%S")
