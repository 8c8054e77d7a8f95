"""The filters of the fleet: links for what hurts, and a form for the rest. Both work without a script."""

from urllib.parse import urlencode

from muster.daemon.web.fleet import Filters, Fleet
from muster.daemon.web.page.html import Html, Part, element, part
from muster.state.summary.hurt import TITLES, Hurt

_SELECTS = (
    ("namespace", "Namespace"),
    ("phase", "Phase"),
    ("operator", "Operator"),
    ("kind", "Kind"),
    ("engine", "Run by"),
)

ENGINES = {"native": "Muster", "observe": "others"}
"""The words for who runs it."""

_CALM = (Hurt.QUEUED,)
"""What is no trouble in itself."""


def link(filters: Filters, query: dict[str, str], **changed: str) -> str:
    """The address of the fleet with these filters, some of them changed; an empty value drops one."""
    kept = {name: value for name, value in query.items() if name == "refresh"}
    stated = filters.stated() | changed | kept
    wanted = {name: value for name, value in stated.items() if value}
    return f"/?{urlencode(wanted)}" if wanted else "/"


def chips(shown: Fleet, filters: Filters, query: dict[str, str]) -> Part:
    """A link for all, and one for everything that hurts, each with its count."""
    counts, passing = shown.counts["problem"], shown.passing.get("problem", 0)
    everything = _chip("all", passing, link(filters, query, problem=""), not filters.problem, "all")
    items = [everything]
    for hurt in Hurt:
        count = counts.get(hurt.value, 0)
        tone = "none" if not count else "soon" if hurt in _CALM else "bad"
        chosen = filters.problem == hurt.value
        target = link(filters, query, problem="" if chosen else hurt.value)
        items.append(_chip(TITLES[hurt], count, target, chosen, tone))
    return part("nav", "problems", element("ul", *items), class_="chips", aria_label="Problems")


def choices(shown: Fleet, filters: Filters, query: dict[str, str]) -> Part:
    """The form, which a narrow screen folds up below a line that names what is chosen."""
    titles = {"q": "text", **{name: title.lower() for name, title in _SELECTS}}
    chosen = filters.without("problem").stated()  # a problem is chosen above
    stated = ", ".join(f"{titles[name]} {ENGINES.get(value, value)}" for name, value in chosen.items())
    line = element("summary", f"Filters: {stated}" if stated else "Filters")
    return part("details", "choices", line, _form(shown, filters, query), open=True)


def _form(shown: Fleet, filters: Filters, query: dict[str, str]) -> Part:
    """Choices by namespace, phase, operator and kind, and a text."""
    fields = [
        element(
            "label",
            "Text",
            element("input", type="search", name="q", value=filters.q, placeholder="name or message", id="filter-q"),
        )
    ]
    for name, title in _SELECTS:
        value: str = getattr(filters, name)
        counts = shown.counts[name]
        if len(counts) < 2 and not value:
            continue
        options = [element("option", f"any ({shown.passing.get(name, 0)})", value="")]
        options += [
            element("option", f"{ENGINES.get(each, each)} ({count})", value=each, selected=each == value)
            for each, count in sorted(counts.items())
        ]
        fields.append(element("label", title, element("select", *options, name=name, id=f"filter-{name}")))
    hidden = {name: v for name, v in (("problem", filters.problem), ("refresh", query.get("refresh", ""))) if v}
    fields += [element("input", type="hidden", name=name, value=value) for name, value in hidden.items()]
    fields.append(element("button", "Filter", type="submit"))
    if filters.stated():
        fields.append(element("a", "Clear", href=link(Filters(), query)))
    return part("form", "filters", *fields, action="/", method="get", role="search")


def _chip(words: str, count: int, target: str, chosen: bool, tone: str) -> Html:
    inside = (element("strong", str(count)), f" {words}")
    current = "true" if chosen else None
    return element("li", element("a", *inside, href=target, class_=f"chip {tone}", aria_current=current))
