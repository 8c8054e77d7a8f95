"""The few shapes of SVG that the pictures need, and their colors."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

INK, FAINT, LINES, PAPER, CARD = "#1f2328", "#59636e", "#d1d9e0", "#f6f8fa", "#ffffff"
COLORS = {
    "green": "#2da44e",
    "yellow": "#d4a72c",
    "orange": "#e16f24",
    "red": "#cf222e",
    "blue": "#316dca",
    "light-blue": "#6cb6ff",
    "purple": "#8250df",
    "gray": "#8c959f",
    "transparent": "none",
}
SERIES = ("#316dca", "#e16f24", "#2da44e", "#8250df", "#cf222e", "#d4a72c", "#0e8a8a", "#bf3989", "#6e7781", "#57606a")
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
LETTER = 0.56
"""Mean width of a letter, as a share of the font's size."""


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def tag(name: str, content: str = "", /, **attributes: str | float) -> str:
    """An element; a dash of an attribute's name is written as an underscore."""
    given = "".join(
        f" {key.strip('_').replace('_', '-')}={quoteattr(value if isinstance(value, str) else number(value))}"
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def box(x: float, y: float, width: float, height: float, fill: str, **more: str | float) -> str:
    return tag("rect", x=x, y=y, width=max(width, 0.5), height=height, fill=fill, **more)


def words(x: float, y: float, text: str, size: float, fill: str = INK, /, **more: str | float) -> str:
    """One line of text; ``y`` is its base line."""
    return tag("text", escape(text), x=x, y=y, font_size=size, fill=fill, **more)


def cut(text: str, width: float, size: float) -> str:
    """The text, shortened to a width in pixels."""
    room = int(width / (size * LETTER))
    return text if len(text) <= room else text[: max(room - 3, 1)] + "..."


def light(color: str) -> str:
    """The color mixed with as much white."""
    parts = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{(part + 255) // 2:02x}" for part in parts)


def path(points: Sequence[tuple[float, float]], *, stepped: bool = False) -> str:
    """The commands of a line through points; those on a level stretch are left out."""
    drawn = [f"M{number(points[0][0])} {number(points[0][1])}"]
    for (_, before), (x, y), (_, after) in zip(points, points[1:], [*points[2:], (0.0, -1.0)], strict=False):
        if number(before) == number(y) == number(after):
            continue
        drawn.append(f"H{number(x)}V{number(y)}" if stepped else f"L{number(x)} {number(y)}")
    return "".join(drawn)
