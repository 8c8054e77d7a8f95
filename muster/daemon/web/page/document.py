"""The document around a page: its head, its policy, the style sheet and the script.

A text becomes HTML in `html` alone, which escapes it. The Content-Security-Policy allows the one style sheet, by its
hash, and the script of this server, and connections to this server: even a hole in the escaping could neither run nor
load anything, nor send what is on the page elsewhere. Trusted Types allow the script one place that makes HTML of text.
"""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import blake2b, sha256
from importlib.resources import files
from urllib.parse import urlencode

from muster.daemon.web.page.html import Child, Html, Part, element, join

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
