"""HTML from texts: every text is escaped in one place, and elements with an id can be replaced one by one.

A page is a tree of `Part`s. When a page is rendered again, `changes` finds the smallest parts that differ, so that a
browser that shows the older one needs only those.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape

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
