"""The document around a page: its head, its policy, the style sheet and the script; and the runbooks as such pages.

A text becomes HTML in `html` alone, which escapes it. The Content-Security-Policy allows the one style sheet, by its
hash, and the script of this server, and connections to this server: even a hole in the escaping could neither run nor
load anything, nor send what is on the page elsewhere. Trusted Types allow the script one place that makes HTML of text.
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b, sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from urllib.parse import urlencode

from markdown_it import MarkdownIt

import muster
from muster.daemon.web.page.html import Child, Html, Part, element, join, part
from muster.metrics import runbooks
from muster.metrics.runbooks import PLACES, SERVED

REFRESH = 5
"""Seconds between two loads of an idle page by a browser without a script."""

SCRIPT_PATH = "/page.js"

_HERE = files("muster.daemon.web.page")
STYLE = (_HERE / "style.css").read_text(encoding="utf-8")
SCRIPT = (_HERE / "page.js").read_text(encoding="utf-8")

POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'",
        "script-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types muster",
    )
)
"""The Content-Security-Policy of every answer."""


def document(title: str, main: Part, here: str, query: dict[str, str]) -> str:
    """Return a whole page. ``here`` is its path; ``refresh=no`` in the query turns updates off."""
    still = query.get("refresh") == "no"
    address = f"{here}?{urlencode(query)}" if query else here
    again = "" if still else f'<noscript><meta http-equiv="refresh" content="{REFRESH}"></noscript>'
    head = join(
        (
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            Html(again),
            element("title", f"{title} · muster"),
            Html(f"<style>{STYLE}</style>"),
            element("script", src=SCRIPT_PATH, defer=True),
        )
    )
    skip = element("a", "Skip to the content", href="#main", class_="skip")
    body = element(
        "body",
        skip,
        main,
        data_events=None if still else f"/events{address}",
        data_version=version(main),
    )
    return f'<!doctype html><html lang="en"><head>{head}</head>{body}</html>'


def version(main: Part) -> str:
    """Return a short name of exactly this content."""
    return blake2b(main.html.encode(), digest_size=9).hexdigest()


def heading(title: Iterable[Child], here: str, query: dict[str, str], shard: str) -> Html:
    """Return the head of a page: its title, the name of its shard, and a link that stops or starts its updates."""
    of_shard = (" ", element("small", f"shard {shard}")) if shard else ()
    still = query.get("refresh") == "no"
    rest = {name: value for name, value in query.items() if name != "refresh"}
    other = rest if still else {**rest, "refresh": "no"}
    link = element(
        "a", "Resume updates" if still else "Pause updates", href=f"{here}?{urlencode(other)}" if other else here
    )
    sign = "updates paused" if still else f"reloads every {REFRESH} s"
    live = element("span", element("span", sign, id="live", role="status"), " ", link, class_="live")
    return element("header", element("h1", *title, *of_shard), live, class_="top")


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
    """Return a page of runbooks by its name (``README``: all alerts). None if there is none.

    The first minute on call needs no other site. A runbook names no experiment, so it is served without a token. Links
    to other pages of the documentation, which are not served here, are texts.
    """
    stem = name.removesuffix(SUFFIX)
    return _page(stem) if stem in _sources() else None


@lru_cache(maxsize=64)  # room for all of them
def _page(name: str) -> str:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    lines = _sources()[name].read_text(encoding="utf-8").splitlines()
    shown = (line for line in lines if not line.startswith("<!--"))  # others are for the tests of the documentation
    tokens = reader.parse("\n".join(shown))
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
    """Return the files by name. Only these are ever opened.

    They are docs/runbooks and docs/reasons.md, to which runbooks link. The wheel holds them as data of
    ``muster.daemon.web``; a checkout reads them in place.
    """
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
