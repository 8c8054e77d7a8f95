"""Moments and durations on the page.

A moment is written in UTC, for readers without a script; the script writes it in the reader's zone. Durations are
coarse, so that a page that is rendered again a second later differs only if something happened; the script counts the
seconds.
"""

import re
from datetime import datetime
from html import escape

from muster.api.values.humanize import age
from muster.daemon.web.page.html import Html, element, join

_STAMP = re.compile(r"\b[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z")
"""The form of a time in sentences (``muster.api.values.timestamps.whole_time``)."""


def moment(stamp: str) -> Html:
    """Return a time in RFC 3339 as an element; empty for an empty one."""
    return element("time", _utc(stamp), datetime=stamp) if stamp else Html("")


def dated(text: str) -> Html:
    """Return a sentence whose times are elements, which the script writes in the reader's zone."""
    parts: list[Html] = []
    at = 0
    for found in _STAMP.finditer(text):
        parts += [Html(escape(text[at : found.start()])), moment(found[0])]
        at = found.end()
    return join((*parts, Html(escape(text[at:]))))


def ago(stamp: str, now: float) -> Html:
    """Return how long ago that time was; the time itself is the element's title."""
    if not stamp:
        return Html("")
    return element("time", coarse(now - seconds_of(stamp)), datetime=stamp, title=_utc(stamp), data_count="up")


def left(until: str, now: float) -> Html:
    """Return how long it is until that time, or since when it is over."""
    seconds = seconds_of(until) - now
    text = f"{coarse(seconds)} left" if seconds >= 0 else f"over since {coarse(-seconds)}"
    return element("time", text, datetime=until, title=_utc(until), data_count="down")


def coarse(seconds: float) -> str:
    """Return a duration whose text changes once a minute at most: ``under 1m``, ``7m``, ``2h15m``."""
    whole = max(0.0, seconds)
    if whole < 60:
        return "under 1m"
    return "1m" if whole < 120 else age(whole - whole % 60)


def _utc(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:19]} UTC"


def seconds_of(stamp: str) -> float:
    """Return the wall second of a time in RFC 3339."""
    return datetime.fromisoformat(stamp).timestamp()
