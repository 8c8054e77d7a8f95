"""The page of one experiment: the sentence first, then causes and ranks, then what explains them."""

from collections.abc import Collection, Iterable, Sequence

from muster.api.conditions import ConditionType
from muster.api.goodput import BY_PHASE, Basis, Bucket
from muster.api.values.durations import age, count_of
from muster.api.values.printable import WORD, printable
from muster.api.values.rank_ranges import from_ranges
from muster.api.values.timestamps import seconds_of
from muster.daemon.web.page.document import Runbooks, document, heading, link
from muster.daemon.web.page.drawings import grid, spans, stuck, timeline
from muster.daemon.web.page.fleet import state
from muster.daemon.web.page.html import (
    Child,
    Html,
    Part,
    ago,
    bar,
    dated,
    element,
    join,
    left,
    moment,
    part,
    section,
)
from muster.rollcall import TONES, deleted_by, tone_of
from muster.rollcall.document import DeadlineReport, Detail, FindingReport, ProgressReport, TimeReport, path_of
from muster.rollcall.seats import Bench
from muster.state.facts.incidents.grouping import announcement
from muster.state.facts.incidents.incident import Incident
from muster.state.facts.incidents.signs import Run
from muster.state.summary.history import INVALID as INVALID_SPEC

NEAR = 0.9
"""The share of a clock above which its bar warns."""
FINE, COARSE = 10, 60
"""Seconds in whose multiples a growing bucket is shown, below two minutes and above: the part is not sent to each
reader every second."""

_CONSEQUENCE = {
    "Fail": "then the experiment fails",
    "Restart": "then the gang restarts",
    "Alert": "then an alert",
}
_MEANINGS = {
    "total": "from the start to the end",
    "pending": "until every member has a node",
    "starting": "until the first program runs",
    "assembly": "until every rank has arrived",
    "run": "from the complete roll to the end",
    "progress": "since the last sign of progress",
    "terminating": "until the old pods are gone",
}


def story(
    one: Detail,
    benches: Collection[Bench],
    query: dict[str, str],
    *,
    role: str,
    now: float,
    runbooks: Runbooks,
    bundles: bool = False,
    shard: str = "",
    found: Incident | None = None,
) -> tuple[Part, str]:
    """Return the main part and the whole document. With ``bundles`` it links to the run's bundle.

    ``role`` has the role of this daemon, ``shard`` its name among several. ``found`` is the incident that explains the
    run.
    """
    here = path_of(one.namespace, one.name)
    title = f"{one.namespace}/{one.name}"
    head = heading((element("a", "Experiments", href="/"), " / ", title), here, query, shard)
    late = frozenset(from_ranges(one.progress.stragglers, one.size) if one.progress else ())
    late |= frozenset(from_ranges(one.slow.ranks, one.size) if one.slow else ())
    parts: list[Child] = [head, _sentence(one, now, runbooks, found)]
    named = {rank: found.cause for rank, found in one.unseen.items()}
    if one.size:  # without a plan there are no ranks
        parts += [*_why(one, runbooks, found), _numbers(one), grid(benches, one.size, late, named)]
    if one.progress:
        parts.append(_progress(one.progress, now))
    if one.slow:
        parts.append(section("slow", "Slow ranks", element("p", one.slow.sentence, class_="words")))
    if one.deadlines:
        parts.append(clocks(one.deadlines, now))
    if phases := spans(one.story, one.finished_at, one.phase):
        parts.append(timeline([*phases, *stuck(one.story, one.finished_at)], now))
    if one.time and one.time.seconds:
        parts.append(goodput(one.time))
    parts.append(_facts(one, f"{here}.tar.gz" if bundles else ""))
    if one.story:
        parts.append(_story(one))
    if one.conditions:
        parts.append(_conditions(one, now))
    links = [element("a", "As JSON", href=f"{here}.json"), element("a", "Metrics", href="/metrics")]
    parts.append(part("footer", "foot", *links, element("span", role)))
    main = part("main", "main", *parts, class_="one", tabindex="-1")
    return main, document(title, main, here, query)


def _sentence(one: Detail, now: float, runbooks: Runbooks, found: Incident | None) -> Part:
    tone = "bad" if one.stuck or one.phase == "Failed" else TONES.get(one.phase, "soon")
    words = one.message or one.reason or "Nothing is known yet."
    lasts = element("p", state(one, runbooks), *_lasts(one, now), class_="state")
    lines = [lasts, element("p", dated(words), class_="words")]
    if found:
        leads = element("a", announcement(found.key), href="/#incidents")
        lines.append(element("p", leads, ", which has what to do.", class_="words"))
    if one.hint:
        lines.append(element("p", one.hint, class_="words"))
    if one.phase == "Failed" and one.cause and one.cause.exit_code is not None:
        log = f"muster logs {one.name} -n {one.namespace} --rank {one.cause.rank}"
        lines.append(element("p", "the last lines of its log: ", element("code", log), class_="next"))
    return part(
        "section",
        "sentence",
        *lines,
        class_=f"sentence {tone}",
        aria_label="What it waits for",
    )


def _lasts(one: Detail, now: float) -> Iterable[Child]:
    """Yield how long the phase has lasted, and the reason of Stuck, each with its name."""
    stuck = next((each for each in one.conditions if each.type == ConditionType.STUCK and each.status), None)
    if one.since:
        yield from (f" {one.phase} for ", ago(one.since, now))
    if stuck:
        yield from (f", {stuck.reason} for ", ago(stuck.reason_since, now))


def _numbers(one: Detail) -> Part:
    pairs: list[tuple[str, Child]] = []
    if one.arrived is not None:
        pairs.append(("ranks arrived", f"{one.arrived}/{one.size}"))
    elif one.phase in ("Assembling", "Running"):
        pairs.append(("ranks arrived", "not known now"))
    pairs += [
        ("members ready at the end" if one.finished_at else "members ready", f"{one.ready}/{one.size}"),
        ("epoch", str(one.epoch)),
        ("restarts", str(one.restarts)),
        ("disruptions", str(one.disruptions)),
        ("operator", one.operator),
    ]
    return part("div", "numbers", _pairs(pairs))


def _why(one: Detail, runbooks: Runbooks, found: Incident | None) -> Iterable[Part]:
    """Yield the causes, each with its ranks; without causes, the missing ranks, each with its reason.

    An incident already shows the remedy for what it explains.
    """
    if one.findings:
        explained = found.explained_causes(Run(one.namespace, one.name)) if found else frozenset()
        items = [
            _finding(each, runbooks.of_cause(each.cause), advise=each.cause not in explained) for each in one.findings
        ]
        yield section("causes", "Causes", element("ul", *items, class_="findings"))
    elif one.missing_ranks:
        rows = [_row(str(m.rank), m.group, m.pod or "none", m.node or "none", m.why) for m in one.missing_ranks]
        title = f"Missing ranks ({one.missing})" if one.missing is not None else "Missing ranks"
        yield section("missing", title, _table(("Rank", "Group", "Pod", "Node", "Why"), rows))


def _finding(one: FindingReport, runbook: str, *, advise: bool) -> Html:
    head = element("p", element("strong", dated(one.sentence)), " ", element("small", one.cause))
    lines = [element("p", dated(one.evidence))] if one.evidence else []
    if one.next_step and advise:
        lines.append(element("p", one.next_step, " ", link(runbook), class_="next"))
    return element("li", head, *lines)


def _progress(one: ProgressReport, now: float) -> Part:
    pairs: list[tuple[str, Child]] = []
    if one.moved_at:
        pairs.append(("since the last step", ago(one.moved_at, now)))
    if one.hung:
        pairs.append(("counts as hung after", age(one.hangs_after)))
    if one.reporting:
        pairs.append(("ranks report", str(one.reporting)))
    if one.stragglers:
        pairs.append(("stragglers", one.stragglers))
    pairs += [(printable(name, WORD), f"{value:.5g}") for name, value in one.scalars.items()]
    sentence = element("p", one.sentence, class_="words bad" if one.hung else "words")
    return section("progress", "Progress", sentence, _pairs(pairs))


def _pairs(pairs: Iterable[tuple[str, Child]]) -> Html:
    items = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *items, class_="numbers")


def clocks(deadlines: Sequence[DeadlineReport], now: float) -> Part:
    """Return one row for each running clock: how much of it has passed, what is left, and what follows."""
    rows = [_clock(each, now) for each in deadlines]
    return section("clocks", "Clocks", element("table", element("tbody", *rows), class_="clocks"))


def _clock(one: DeadlineReport, now: float) -> Html:
    begin = seconds_of(one.until) - one.limit
    passed = min(1.0, max(0.0, (now - begin) / one.limit)) if one.limit > 0 else 1.0
    tone = "bad" if passed >= 1 else "warn" if passed >= NEAR else "ok"
    percent = round(100 * passed)
    return element(
        "tr",
        element("th", one.clock, element("small", _MEANINGS.get(one.clock, "")), scope="row"),
        element("td", bar(percent, tone, means=f"{percent} % have passed"), class_="wide"),
        element("td", left(one.until, now), element("small", f" of {age(one.limit)}"), class_="number"),
        element("td", _CONSEQUENCE.get(one.action, f"then {one.action}")),
    )


def goodput(one: TimeReport) -> Part:
    """Return one row for each bucket that has any time, in the order of a run's life."""
    wall = sum(one.seconds.values())
    rows = [
        _bucket(each, one.seconds[each.value], wall, grows=each == one.counting)
        for each in Bucket
        if one.seconds.get(each.value)
    ]
    lines = [element("table", element("tbody", *rows), class_="clocks")]
    if one.basis == Basis.PHASE:
        lines.append(element("p", element("small", f"{BY_PHASE[0].upper()}{BY_PHASE[1:]}.")))
    return section("goodput", "Where the time went", *lines)


def _bucket(bucket: Bucket, seconds: int, wall: int, *, grows: bool) -> Html:
    percent = round(100 * seconds / wall)
    step = COARSE if seconds >= 2 * COARSE else FINE
    coarse = f"over {age(seconds - seconds % step)}" if seconds >= FINE else f"less than {FINE}s"
    shown = coarse if grows else age(seconds)
    return element(
        "tr",
        element("th", bucket.value.replace("_", " "), scope="row"),
        element("td", bar(percent, tone_of(bucket), means=f"{percent} % of the time"), class_="wide"),
        element("td", shown, class_="number"),
        element("td", f"{percent} %", class_="number"),
    )


def _facts(one: Detail, bundle: str) -> Part:
    facts: list[tuple[str, Child]] = []
    if asked := one.coordinator:
        expected = "" if asked.expected is None else f", waits for {count_of(asked.expected, 'process')}"
        note = f": {asked.detail}" if asked.detail else ""
        facts.append(("Coordinator", f"{asked.address} {asked.state}{expected}{note}"))
        facts.append(("Protocol", asked.protocol or "none understood"))
    if one.dashboard:
        host, _, port = one.dashboard.rpartition(":")
        where = f"http://{one.dashboard} inside the cluster" if host else f"port {port} of the head's pod"
        facts.append(("Dashboard of the run", where))
    if cause := one.cause:
        text = join((f"epoch {cause.epoch}, ", moment(cause.at), f": {cause.sentence}"))
        facts.append(("Last failure", text))
    if one.started_at:
        facts.append(("Started", moment(one.started_at)))
    if one.finished_at:
        facts.append(("Finished", moment(one.finished_at)))
    if one.delete_at:
        facts.append(("To be deleted", join((moment(one.delete_at), f", by {deleted_by(one.retention)}"))))
    facts.append(("In a terminal", element("code", f"muster explain {one.name} --namespace {one.namespace}")))
    packed = element("code", f"muster bundle {one.name} --namespace {one.namespace} > bundle.tar.gz")
    if bundle:
        download = element("a", "Download the bundle", href=bundle, class_="button")
        packed = join((download, " for someone without access to the cluster; in a terminal: ", packed))
    facts.append(("Bundle", packed))
    if one.reason == INVALID_SPEC:
        facts.append(("File, line and column", element("code", "muster lint FILE")))
    pairs = (element(tag, text) for term, fact in facts for tag, text in (("dt", term), ("dd", fact)))
    return section("facts", "Facts", element("dl", *pairs))


def _story(one: Detail) -> Part:
    rows = []
    for line in reversed(one.story):
        what = element("td", f"Warning: {line.reason}", class_="bad") if line.warning else element("td", line.reason)
        when, epoch = element("td", moment(line.at), class_="number"), element("td", str(line.epoch), class_="number")
        rows.append(element("tr", when, epoch, what, element("td", dated(line.message))))
    return section("story", "Story, the latest first", _table(("When", "Epoch", "What", "Message"), rows))


def _conditions(one: Detail, now: float) -> Part:
    rows = [
        element(
            "tr",
            element("th", c.type, scope="row"),
            element("td", str(c.status)),
            element("td", c.reason, *((" for ", ago(c.reason_since, now)) if c.reason_since != c.since else ())),
            element("td", c.message),
            element("td", ago(c.since, now), class_="number"),
        )
        for c in one.conditions
    ]
    return section("conditions", "Conditions", _table(("Condition", "Status", "Reason", "Message", "For"), rows))


def _row(*cells: str) -> Html:
    return element("tr", element("th", cells[0], scope="row"), *(element("td", cell) for cell in cells[1:]))


def _table(heads: Iterable[str], rows: Iterable[Html]) -> Html:
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    return element("table", head, element("tbody", *rows))
