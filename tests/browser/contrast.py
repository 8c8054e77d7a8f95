"""Contrast of texts as WCAG 2.1 defines it, computed in the browser from what it has laid out."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from selenium.webdriver import Chrome


class Text(NamedTuple):
    """One element that has text of its own: what it is, its colours, and whether its letters are large."""

    what: str
    ink: tuple[float, float, float]
    paper: tuple[float, float, float]
    large: bool


_COLLECT = """
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const paper = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
  }
  return parse(getComputedStyle(document.body).backgroundColor).slice(0, 3);
};
const found = new Map();
for (const element of document.querySelectorAll("body *")) {
  const own = Array.from(element.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || !element.getClientRects().length || element.closest("svg, script, style, noscript, option")) continue;
  const style = getComputedStyle(element);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const name = `${element.tagName.toLowerCase()}.${element.className}`;
  const ink = parse(style.color).slice(0, 3);
  found.set(JSON.stringify([name, ink, paper(element)]), [name, ink, paper(element), large]);
}
return JSON.stringify(Array.from(found.values()));
"""


def texts(browser: Chrome) -> list[Text]:
    """Every kind of text that is shown."""
    return [Text(what, tuple(ink), tuple(paper), large) for what, ink, paper, large in json.loads(
        browser.execute_script(_COLLECT)
    )]  # fmt: skip


def ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """The contrast ratio of two colours (WCAG 2.1, relative luminance)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Sequence[float]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (each / 255 for each in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
