"""Wall-clock seconds of the RFC 3339 times that clients send; nonsense is an error to tell them."""

from __future__ import annotations

from datetime import datetime


def parse_rfc3339(text: str) -> float:
    """Seconds since 1970; raises ValueError where the text is no RFC 3339 time."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write it as 2026-01-02T03:04:05Z")
    return moment.timestamp()
