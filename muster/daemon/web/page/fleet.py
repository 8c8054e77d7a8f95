"""The page of all experiments, the most urgent first.

Its filters are links for problems, and a form for the rest. Both work without a script.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from muster.api.values.accelerators import USUAL, Accelerators, words
from muster.api.values.durations import count_of
from muster.daemon.web.fleet import Filters, Fleet
from muster.daemon.web.page.document import OUTSIDE, Runbooks, document, heading
from muster.daemon.web.page.html import Child, Html, Part, ago, bar, coarse, element, join, part
from muster.metrics.catalogue import INVALID
from muster.rollcall import TONES, stuck, until
from muster.rollcall.document import NodeReport, Summary, path_of
from muster.state.facts.incidents.incident import Incident
from muster.state.facts.incidents.signs import Run
from muster.state.summary.history import UNREADABLE
from muster.state.summary.hurt import TITLES, Hurt, incident_sentence, lasting

_SELECTS = (
    ("namespace", "Namespace"),
    ("phase", "Phase"),
    ("operator", "Operator"),
    ("kind", "Kind"),
    ("engine", "Run by"),
)

ENGINES = {"native": "Muster", "observe": "others"}
"""The words for who runs the experiment."""

_CALM = (Hurt.QUEUED,)
"""Problems that need no action in themselves."""


def link(filters: Filters, query: dict[str, str], **changed: str) -> str:
    """Return the address of the fleet with these filters, some of them changed; an empty value drops one."""
    kept = {name: value for name, value in query.items() if name == "refresh"}
    stated = filters.stated() | changed | kept
    wanted = {name: value for name, value in stated.items() if value}
    return f"/?{urlencode(wanted)}" if wanted else "/"


def chips(shown: Fleet, filters: Filters, query: dict[str, str]) -> Part:
    """Return a link for all experiments, and one for each problem, with its count."""
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
    """Return the form, which a narrow screen folds up below a line that names the chosen filters."""
    titles = {"q": "text", **{name: title.lower() for name, title in _SELECTS}}
    chosen = {name: value for name, value in filters.stated().items() if name != "problem"}  # that is chosen above
    stated = ", ".join(f"{titles[name]} {ENGINES.get(value, value)}" for name, value in chosen.items())
    line = element("summary", f"Filters: {stated}" if stated else "Filters")
    return part("details", "choices", line, _form(shown, filters, query), open=True)


def _form(shown: Fleet, filters: Filters, query: dict[str, str]) -> Part:
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


PAGE = 500
"""Most rows of one page."""

SHOWN = 8
"""Most linked runs of a suspect node."""
FOLDED = 500
"""Most linked runs of an incident, in a folded list."""

HEADS = ("Experiment", "State", "What it waits for", "Arrived", "Accelerators", "Restarts", "Next deadline", "For")

METRICS = ("Metrics", "/metrics")
NODES = ("Nodes that failed runs", "/nodes.json")


def overview(
    shown: Fleet,
    rows: Sequence[Summary],
    filters: Filters,
    query: dict[str, str],
    *,
    scope: str,
    role: str,
    now: float,
    runbooks: Runbooks,
    accelerators: Accelerators = USUAL,
    found: Sequence[Incident] = (),
    shard: str = "",
    suspects: Sequence[NodeReport] = (),
) -> tuple[Part, str]:
    """Return the main part and the whole document.

    ``query`` has all parameters of the page, the filters too. ``scope`` names the experiments that a reader with few
    rights sees, ``role`` has the role of this daemon, ``shard`` its name among several.
    """
    counts = ", ".join(f"{count} {phase}" for phase, count in shown.phases.items() if count)
    caption = f"{count_of(shown.total, 'experiment')}: {counts}" if shown.total else "No experiments."
    here = heading(("Experiments",), "/", query, shard)
    parts: list[Child] = [
        here,
        incidents(found, now, accelerators),
        part("section", "suspects", *map(_suspect, suspects)),
        part("p", "sums", caption, f" {scope}" if scope else "", class_="sums"),
    ]
    if shown.total:
        parts += [
            chips(shown, filters, query),
            choices(shown, filters, query),
            _table(rows, now, runbooks, accelerators, {run: each for each in found for run in each.explains}),
        ]
        parts.append(part("p", "range", *_range(shown, len(rows), filters, query), class_="sums"))
    stated = filters.stated()
    links = (("As JSON", f"/experiments.json?{urlencode(stated)}" if stated else "/experiments.json"), NODES, METRICS)
    footer = [element("a", text, href=target) for text, target in links]
    parts.append(part("footer", "foot", *footer, element("span", role)))
    main = part("main", "main", *parts, class_="fleet", tabindex="-1")
    return main, document("Experiments", main, "/", query)


def incidents(found: Sequence[Incident], now: float, accelerators: Accelerators) -> Part:
    """Return the incidents, first on the page: a line for each, and its first runs."""
    return part("section", "incidents", *(_incident(each, now, accelerators) for each in found))


def _incident(one: Incident, now: float, accelerators: Accelerators) -> Html:
    sentence = lasting(incident_sentence(one), coarse(max(0.0, now - one.began)), words(accelerators.of(one.devices)))
    what: list[Child] = [element("p", element("strong", sentence)), element("p", one.remedy, class_="next")]
    if not one.runs:
        return element("div", *what, class_="incident badge bad")
    links: list[Child] = [element("summary", f"its {count_of(len(one.runs), 'run')}")]
    for run in one.runs[:FOLDED]:
        links += [element("a", f"{run.namespace}/{run.name}", href=path_of(run.namespace, run.name)), " "]
    if len(one.runs) > FOLDED:
        links.append(f"and {len(one.runs) - FOLDED} more")
    folded = element("details", *links, id=f"incident-{one.key.kind}-{one.key.subject}")
    return element("div", *what, folded, class_="incident badge bad")


def _suspect(one: NodeReport) -> Html:
    children: list[Child] = [element("strong", f"Suspect: {one.suspect}."), f" {one.advice}. "]
    for each in one.failures[:SHOWN]:
        children += [element("a", each.run, href=path_of(each.namespace, each.run)), f" ({each.cause}) "]
    if len(one.failures) > SHOWN:
        children.append(f"and {len(one.failures) - SHOWN} more")
    return element("p", *children, class_="badge warn")


def state(one: Summary, runbooks: Runbooks) -> Html:
    """Return the phase and the problems; a reason of Stuck links to its runbook."""
    unknown = one.stuck == UNREADABLE
    badges = [] if unknown else [element("span", one.phase, class_=f"badge {TONES.get(one.phase, 'soon')}")]
    if one.stuck:
        target = runbooks.of_reason(one.stuck)
        text, look = stuck(one.stuck), "badge bad"
        linked = element("a", text, href=target, rel=OUTSIDE, class_=look) if target else None
        badges.append(linked or element("span", text, class_=look))
    known = {Hurt.STUCK, Hurt.HUNG, Hurt.FAILED, Hurt.RESTARTING, Hurt.QUEUED} | (
        {Hurt.MISSING} if one.stuck else set()
    )
    found = (Hurt(each) for each in one.problems)
    badges += [element("span", TITLES[hurt], class_="badge warn") for hurt in found if hurt not in known]
    return join(badges)


def _table(
    rows: Sequence[Summary],
    now: float,
    runbooks: Runbooks,
    accelerators: Accelerators,
    explained: Mapping[Run, Incident],
) -> Part:
    why = (explained.get(Run(one.namespace, one.name)) for one in rows)
    body = part(
        "tbody", "rows", *(_row(one, now, runbooks, accelerators, each) for one, each in zip(rows, why, strict=True))
    )
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in HEADS)))
    return part("table", "experiments", head, body)


def _row(one: Summary, now: float, runbooks: Runbooks, accelerators: Accelerators, why: Incident | None = None) -> Part:
    soonest = min(one.clocks.items(), key=lambda clock: clock[1], default=None)
    name = element("a", one.name, href=path_of(one.namespace, one.name))
    kind = "" if one.kind == "Experiment" else f"{one.kind}, "
    explained = f"explained by {why.key.kind} {why.key.subject}, above" if why else ""
    below = filter(None, (explained, one.progress.sentence if one.progress else "", one.hint))
    operator = "not understood" if one.operator == INVALID else one.operator
    return part(
        "tr",
        f"row-{one.namespace}/{one.name}",
        element("th", name, element("small", f"{one.namespace} · {kind}{operator}"), scope="row"),
        element("td", state(one, runbooks), class_="state"),
        element("td", one.message or one.reason, *(element("small", each) for each in below), class_="message"),
        element("td", _arrived(one), class_="number"),
        element("td", words(accelerators.of(tuple(one.devices.items()))), class_="number"),
        element("td", str(one.restarts), class_="number"),
        element("td", _clock(*soonest) if soonest else "", class_="number"),
        element("td", ago(one.since, now), class_="number"),
    )


def _arrived(one: Summary) -> Html:
    if not one.size:
        return Html("")
    count = one.ready if one.arrived is None else one.arrived
    share = min(100, round(100 * count / one.size))
    when = " ready at the end" if one.phase in ("Succeeded", "Failed") else " ready"
    tone = "warn" if one.missing and one.phase in ("Assembling", "Running") else "ok"
    return join((f"{count}/{one.size}", element("small", when) if one.arrived is None else "", bar(share, tone)))


def _clock(name: str, seconds: float) -> Html:
    return join((until(seconds, coarse), element("small", f" {name}")))


def _range(shown: Fleet, count: int, filters: Filters, query: dict[str, str]) -> list[Child]:
    if not shown.matching:
        return ["No experiment passes these filters. ", element("a", "Show all", href=link(Filters(), query))]
    if count == shown.matching:
        return [f"All {count} are shown, most urgent first."]
    end = shown.begin + count
    parts: list[Child] = [f"{shown.begin + 1} to {end} of {shown.matching}, most urgent first. "]
    if shown.begin:
        before = max(0, shown.begin - PAGE)
        parts.append(element("a", "Previous", href=link(filters, query, begin=str(before) if before else "")))
    if end < shown.matching:
        parts.append(element("a", "Next", href=link(filters, query, begin=str(end))))
    return parts
