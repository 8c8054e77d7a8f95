"""HTML from texts: every text is escaped in one place, and elements with an id can be replaced one by one.

A page is a tree of `Part`s. When a page is rendered again, `changes` finds the smallest parts that differ, so that a
browser that shows the older one needs only those.

A moment is written in UTC, for readers without a script; the script writes it in the reader's zone. Durations are
coarse, so that a page that is rendered again a second later differs only if something happened; the script counts the
seconds.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape

from muster.api.values.durations import age
from muster.api.values.timestamps import seconds_of
from muster.rollcall import until

VOID = frozenset(("br", "input", "link", "meta", "rect", "line", "circle"))
"""Elements that are written without an end tag here. Those of SVG are closed by a slash."""

_SVG = frozenset(("rect", "line", "circle"))


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Part:
    """An element with an id."""

    id: str
    opening: str
    children: "tuple[Part | Html, ...]"
    closing: str
    html: Html = field(init=False)

    def __post_init__(self) -> None:
        inside = "".join(child.html if isinstance(child, Part) else child for child in self.children)
        object.__setattr__(self, "html", Html(f"{self.opening}{inside}{self.closing}"))


Child = str | Html | Part


def element(name: str, /, *children: Child, **attributes: str | bool | None) -> Html:
    """Return an element. Children that are plain text are escaped.

    A trailing underscore of an attribute is dropped, others become hyphens. True makes an attribute without a value;
    False, None and an empty class make none.
    """
    opening = _opening(name, attributes)
    return Html(opening if name in VOID else f"{opening}{join(children)}</{name}>")


def part(name: str, id_: str, /, *children: Child, **attributes: str | bool | None) -> Part:
    """Return an element with that id."""
    inside = tuple(child if isinstance(child, Part | Html) else Html(escape(child)) for child in children)
    return Part(id_, _opening(name, {"id": id_, **attributes}), inside, f"</{name}>")


def join(children: Iterable[Child]) -> Html:
    """Return the children, one after the other."""
    return Html("".join(map(_inside, children)))


def section(id_: str, title: str, *children: Child) -> Part:
    """Return a section with a heading that names it."""
    name = f"{id_}-title"
    return part("section", id_, element("h2", title, id=name), *children, aria_labelledby=name)


def bar(percent: int, tone: str, *, means: str = "") -> Html:
    """Return a bar filled to ``percent``. ``means`` is its text for screen readers; empty if a text is beside it."""
    label: dict[str, str] = {"role": "img", "aria_label": means} if means else {"aria_hidden": "true"}
    return element(
        "svg",
        element("rect", width="100%", height="100%", class_="track"),
        element("rect", width=f"{percent}%", height="100%", class_=f"fill {tone}"),
        class_="bar",
        **label,
    )


@dataclass(frozen=True, slots=True)
class Outline:
    """The hashes of a shown part that `changes` needs: they take a small share of its memory."""

    whole: int
    frame: int
    parts: "tuple[Outline, ...]"

    @classmethod
    def of(cls, one: Part) -> "Outline":
        """Return the outline of that part."""
        return cls(hash(one.html), _frame(one), tuple(cls.of(each) for each in _parts(one)))


def changes(old: Outline, new: Part) -> Iterator[Part]:
    """Yield the parts of ``new`` that must replace those of the same id, so that ``old`` becomes ``new``."""
    if old.whole == hash(new.html):
        return
    if old.frame != _frame(new):
        yield new
        return
    for before, after in zip(old.parts, _parts(new), strict=True):
        yield from changes(before, after)


def _parts(one: Part) -> Iterator[Part]:
    return (child for child in one.children if isinstance(child, Part))


def _frame(one: Part) -> int:
    """Return a hash of a part in which inner parts count by id and place, and not by content."""
    return hash((one.opening, *((child.id,) if isinstance(child, Part) else child for child in one.children)))


def _inside(child: Child) -> str:
    if isinstance(child, Part):
        return child.html
    return child if isinstance(child, Html) else escape(child)


def _opening(name: str, attributes: dict[str, str | bool | None]) -> str:
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    return f"<{name}{given}{'/' if name in _SVG else ''}>"


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False or (key == "class_" and not value):
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


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


def left(end: str, now: float) -> Html:
    """Return how long it is until that time, or since when it is over."""
    text = until(seconds_of(end) - now, coarse)
    return element("time", text, datetime=end, title=_utc(end), data_count="down")


def coarse(seconds: float) -> str:
    """Return a duration whose text changes once a minute at most: ``under 1m``, ``7m``, ``2h15m``."""
    whole = max(0.0, seconds)
    if whole < 60:
        return "under 1m"
    return "1m" if whole < 120 else age(whole - whole % 60)


def _utc(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:19]} UTC"
