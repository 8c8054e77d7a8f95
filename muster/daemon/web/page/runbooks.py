"""The runbooks: links to them from the page, and their own pages as musterd serves them.

A reason of the condition Stuck, and each cause, leads to one. The first minute on call needs no other site. Their
sources are docs/runbooks and docs/reasons.md, to which they link. The wheel holds them as data of
``muster.daemon.web``; a checkout reads the folder. A runbook names no experiment, so it is served without a token.
Links to other pages of the documentation, which are not served here, are texts.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from markdown_it import MarkdownIt

import muster
from muster.daemon.web.page.document import document
from muster.daemon.web.page.html import Html, element, part
from muster.metrics import runbooks
from muster.metrics.runbooks import PLACES, SERVED

OUTSIDE = "noopener noreferrer"
"""The relation of a link to another server: it learns nothing of the page."""


@dataclass(frozen=True, slots=True)
class Runbooks:
    """Links to runbooks below ``base``; none without it. Only http, https and musterd's own are followed."""

    base: str = ""

    def of_reason(self, reason: str) -> str:
        """Return the address of the runbook of a reason of Stuck; empty if there is none."""
        return self._address(runbooks.of_reason(reason))

    def of_cause(self, cause: str) -> str:
        """Return the address of the runbook of a cause; empty if nothing is to be done about it."""
        return self._address(runbooks.of_cause(cause))

    def _address(self, name: str) -> str:
        known = self.base.startswith(("http://", "https://")) or self.base == runbooks.SERVED
        return f"{self.base.rstrip('/')}/{PLACES[name]}" if name and known else ""


def link(target: str) -> Html:
    """Return the link to a runbook, or nothing."""
    return element("a", "Runbook", href=target, rel=OUTSIDE, class_="runbook") if target else Html("")


INDEX = "README"
SUFFIX = ".md"


def book(name: str) -> str | None:
    """Return a page of runbooks by its name (``README``: all alerts). None if there is none."""
    stem = name.removesuffix(SUFFIX)
    return _page(stem) if stem in _sources() else None


@lru_cache(maxsize=64)  # room for all of them
def _page(name: str) -> str:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(_without_comments(_sources()[name].read_text(encoding="utf-8")))
    for number, token in enumerate(tokens):
        if token.type == "heading_open":  # an anchor as forges make it
            token.attrs["id"] = re.sub(r"[^\w -]", "", tokens[number + 1].content.lower()).replace(" ", "-")
        for child in token.children or ():
            if child.type == "link_open" and not (target := _served(str(child.attrs.get("href", "")))):
                del child.attrs["href"]
            elif child.type == "link_open":
                child.attrs["href"] = target
    main = part("main", "main", Html(reader.renderer.render(tokens, reader.options, {})), class_="book")
    return document(name, main, f"{SERVED}/{name}{SUFFIX}", {"refresh": "no"})


@cache
def _sources() -> dict[str, Traversable]:
    """Return the files by name. Only these are ever opened."""
    packed = files("muster.daemon.web") / "runbooks"
    docs = Path(muster.__file__).parents[1] / "docs"
    found = packed.iterdir() if packed.is_dir() else (*(docs / "runbooks").iterdir(), docs / "reasons.md")
    return {each.name.removesuffix(SUFFIX): each for each in found if each.name.endswith(SUFFIX)}


def _served(target: str) -> str:
    """Return the address of a link if musterd serves its page; else an empty text."""
    if target.startswith(("https://", "http://", "#")):
        return target
    place = target.rpartition("/")[2]
    return place if place.partition("#")[0].removesuffix(SUFFIX) in _sources() else ""


def _without_comments(text: str) -> str:
    """Return the text without the lines that are for the tests of the documentation."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("<!--"))
