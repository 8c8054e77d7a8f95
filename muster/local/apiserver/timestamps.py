"""Wall-clock seconds to and from the two RFC 3339 forms Kubernetes writes: Time (seconds) and MicroTime."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """A Time: whole seconds, UTC, with a Z."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_rfc3339(text: str) -> float:
    """Seconds since 1970; raises ValueError where the text is no RFC 3339 time."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write it as 2026-01-02T03:04:05Z")
    return moment.timestamp()


def human(seconds: float) -> str:
    """An age as kubectl shows it (apimachinery pkg/util/duration, HumanDuration)."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole >= -1 else "<invalid>"
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, hours = divmod(hours, 24)
    if days < 8:
        return f"{days}d{hours}h" if hours else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, days = divmod(days, 365)
    return f"{years}y{days}d" if years < 8 and days else f"{years}y"
