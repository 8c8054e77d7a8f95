"""The roll-call page: HTML on the server, no script, nothing from elsewhere.

A text becomes HTML in one place, `element`, which escapes every child that is not itself an element. The
Content-Security-Policy allows nothing but the one style sheet below, by its hash, so that even a hole in the escaping
could neither run nor load anything.
"""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from urllib.parse import quote

from muster.daemon.web.schemas import Detail, Listing, Summary

REFRESH = 5
"""Seconds between two loads of the page by a browser that is left alone."""

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8889; --bad: #c02; --good: #072; }
@media (prefers-color-scheme: dark) { :root { --bad: #f79; --good: #7d9; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1rem 1.5rem 3rem; max-width: 90rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; padding: .4rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; } td.brief { white-space: nowrap; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
nav { margin: .6rem 0; } nav a { margin-right: 1rem; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); }
"""

POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""The Content-Security-Policy of the pages below."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Html


def element(name: str, *children: Child, **attributes: str) -> Html:
    """An element. Children that are plain text are escaped; a trailing underscore of an attribute is dropped."""
    given = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Html:
    """The children one after the other."""
    return Html("".join(child if isinstance(child, Html) else escape(child) for child in children))


def overview(listing: Listing, scope: str, refresh: bool) -> str:
    """All experiments (or as many as the listing holds). ``scope`` says which ones a reader with few rights sees."""
    counts = ", ".join(f"{count} {phase}" for phase, count in listing.phases.items() if count)
    caption = f"{listing.total} experiments: {counts}" if listing.total else "No experiments."
    if listing.after:
        caption += f". The first {len(listing.experiments)} are shown; experiments.json?after= has the rest."
    if scope:
        caption += f" {scope}"
    heads = ("Experiment", "Operator", "Phase", "Arrived", "Ready", "Restarts", "Next deadline", "What it waits for")
    rows = [element("tr", *(_cells(one))) for one in listing.experiments]
    body = _table(caption, heads, rows)
    return _page(
        "Experiments", refresh, element("h1", "muster: experiments"), _links("/", "/experiments.json", refresh), body
    )


def story(one: Detail, refresh: bool) -> str:
    """One experiment."""
    title = f"{one.namespace}/{one.name}"
    here = _address(one)
    parts = [
        element("h1", title),
        element("nav", element("a", "All experiments", href="/")),
        _links(here, f"{here}.json", refresh),
        _facts(one),
    ]
    if one.missing_ranks:
        rows = [_row(str(m.rank), m.group, m.pod or "none", m.node, m.why) for m in one.missing_ranks]
        caption = f"Missing ranks ({one.missing})" if one.missing is not None else "Missing ranks"
        parts.append(_table(caption, ("Rank", "Group", "Pod", "Node", "Why"), rows))
    if one.conditions:
        rows = [_row(c.type, "yes" if c.status else "no", c.reason, c.message, c.since) for c in one.conditions]
        parts.append(_table("Conditions", ("Condition", "True", "Reason", "Message", "Since"), rows))
    if one.story:
        rows = [_story_line(line.at, line.epoch, line.reason, line.message, line.warning) for line in one.story]
        parts.append(_table("Story", ("When", "Epoch", "What", "Message"), rows))
    return _page(title, refresh, *parts)


def _cells(one: Summary) -> Iterable[Html]:
    soonest = min(one.clocks.items(), key=lambda clock: clock[1], default=None)
    roll = "" if one.arrived is None else f"{one.arrived}/{one.size}"
    yield element("th", element("a", f"{one.namespace}/{one.name}", href=_address(one)), scope="row")
    yield element("td", one.operator)
    yield element("td", _phase(one), class_="brief")
    for number in (roll, f"{one.ready}/{one.size}", str(one.restarts), _clock(*soonest) if soonest else ""):
        yield element("td", number, class_="number")
    yield element("td", one.message or one.reason)


def _facts(one: Detail) -> Html:
    facts: list[tuple[str, Child]] = [
        ("Phase", join((_phase(one), f" since {one.since}"))),
        ("Message", one.message or one.reason or "none"),
        ("Operator", one.operator),
        ("Epoch", f"{one.epoch} ({one.restarts} restarts, {one.disruptions} disruptions)"),
        ("Members ready", f"{one.ready} of {one.size}"),
    ]
    if one.arrived is not None:
        facts.append(("Arrived", f"{one.arrived} of {one.size}"))
    facts += [(f"Ranks {state}", numbers) for state, numbers in one.ranks.items()]
    if asked := one.coordinator:
        expected = "" if asked.told is None else f", waits for {asked.told} processes"
        note = f": {asked.detail}" if asked.detail else ""
        facts.append(("Coordinator", f"{asked.address} {asked.state}{expected}, asked {asked.at}{note}"))
    facts += [(f"Clock {name}", _clock("", left)) for name, left in one.clocks.items()]
    if one.cause:
        facts.append(("Last epoch ended", f"epoch {one.cause.epoch}, {one.cause.at}: {one.cause.sentence}"))
    return element("dl", *(element(tag, text) for term, fact in facts for tag, text in (("dt", term), ("dd", fact))))


def _phase(one: Summary) -> Html:
    if one.stuck:
        return join((f"{one.phase}, ", element("span", f"stuck: {one.stuck}", class_="bad")))
    kind = {"Failed": "bad", "Succeeded": "good", "Running": "good"}.get(one.phase, "")
    return element("span", one.phase, class_=kind) if kind else join((one.phase,))


def _clock(name: str, seconds: float) -> str:
    minutes, rest = divmod(round(abs(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    left = f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"
    return f"{name} {'in' if seconds >= 0 else 'passed'} {left}".strip()


def _story_line(at: str, epoch: int, reason: str, message: str, warning: bool) -> Html:
    what = element("td", f"Warning: {reason}", class_="bad") if warning else element("td", reason)
    return element("tr", element("td", at, class_="number"), element("td", str(epoch)), what, element("td", message))


def _row(*cells: str) -> Html:
    return element("tr", element("th", cells[0], scope="row"), *(element("td", cell) for cell in cells[1:]))


def _table(caption: str, heads: Iterable[str], rows: Iterable[Html]) -> Html:
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    return element("table", element("caption", caption), head, element("tbody", *rows))


def _links(here: str, json: str, refresh: bool) -> Html:
    other = ("Stop reloading", f"{here}?refresh=no") if refresh else (f"Reload every {REFRESH} s", here)
    links = (other, ("As JSON", json), ("Metrics", "/metrics"))
    return element("nav", *(element("a", text, href=address) for text, address in links))


def _address(one: Summary) -> str:
    return f"/experiments/{quote(one.namespace, safe='')}/{quote(one.name)}"


def _page(title: str, refresh: bool, *parts: Html) -> str:
    again = f'<meta http-equiv="refresh" content="{REFRESH}">' if refresh else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{again}{element('title', f'{title} · muster')}<style>{STYLE}</style></head>"
        f"<body>{element('main', *parts)}</body></html>"
    )
