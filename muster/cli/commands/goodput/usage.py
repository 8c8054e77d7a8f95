"""``muster usage``: the hours of accelerators that namespaces, operators or owners have held, and what they went into.

A Prometheus that scrapes musterd has them as increases of ``muster_namespace_accelerator_seconds_total`` and, by owner,
of ``muster_owner_accelerator_seconds_total``; lost hours, by cause, in the same way as those of
``muster_namespace_accelerator_lost_seconds_total`` and ``muster_owner_accelerator_lost_seconds_total``:

- Each musterd counts while it leads, in its own process, so the increases of all processes are added. Those of standbys
  are 0, and a shard counts its own namespaces alone.
- One process may be scraped twice: by two jobs, or by two replicas of Prometheus that Thanos or Mimir does not
  deduplicate. So the largest increase counts of those with the same ``cluster``, ``shard``, ``instance`` and ``pod``.
- A process that starts begins at 0. ``increase`` continues from there, also if it has the labels of the one before.
"""

import asyncio
import csv
import io
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import click

from muster.api.goodput import BADPUT, WASTED, Bucket
from muster.api.values.durations import age
from muster.api.values.owners import OwnerLabel
from muster.api.values.printable import printable
from muster.cli.commands.goodput.account import percent
from muster.cli.commands.goodput.prometheus import Prometheus, Source, prometheus_options, quoted
from muster.cli.options import SPAN, output_option, show
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.cli.terminal.table import Table
from muster.rollcall.document import stamp

TAKEN_BACK: Final = "taken_back"
_PROCESS: Final = "cluster, shard, instance, pod"
_Key = tuple[str, str, str]
EARLY: Final = 3600
"""Seconds from the beginning in which something must have been scraped, else the figures begin later."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Hours of one part with one kind of accelerator, by bucket, those that are productive among them."""

    cluster: str
    part: str
    resource: str
    hours: Mapping[Bucket, float]
    lost: Mapping[str, float] = field(default_factory=dict)
    """Hours that were stuck, lost or spent on recovery, by cause."""

    @property
    def held(self) -> float:
        """Return the sum of all buckets."""
        return sum(self.hours.values())


def seconds_of(by: str, window: int, kind: str = "", of: str = "bucket", label: str = "") -> str:
    """Return the expression for the seconds of each part by bucket, or of ``kind`` ``lost_`` by cause.

    ``by`` is namespace, operator, owner, or empty for all together. ``label`` is that of owners, as metrics have it.
    """
    part, parts = ("owner", "label, owner") if label else ("namespace", "namespace, operator")
    chosen = f"{{label={quoted(label)}}}" if label else ""
    counter = f"muster_{part}_accelerator_{kind}seconds_total{chosen}[{window}s]"
    labels = f"cluster, resource, {of}" + (f", {by}" if by else "")
    return f"sum by ({labels}) (max by ({_PROCESS}, {parts}, resource, {of}) (increase({counter})))"


async def used(prometheus: Prometheus, by: str, now: float, window: int, label: str = "") -> list[Usage]:
    """Return what each part has held in so many seconds until now, the most first (see ``seconds_of``)."""
    asked = (seconds_of(by, window, label=label), seconds_of(by, window, "lost_", "cause", label))
    found, to_causes = await asyncio.gather(*(prometheus.ask(query, now) for query in asked))
    lost: dict[_Key, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for labels, value in to_causes:
        lost[_key(labels, by)][labels.get("cause", "other")] += value / 3600
    seconds: dict[_Key, dict[str, float]] = defaultdict(dict)
    for labels, value in found:
        seconds[_key(labels, by)][labels.get("bucket", "")] = value
    several = (Usage(*key, _hours(sums), lost[key]) for key, sums in seconds.items())
    return sorted((each for each in several if each.held > 0), key=lambda each: (-each.held, each.part, each.resource))


def _key(labels: Mapping[str, str], by: str) -> _Key:
    return labels.get("cluster", ""), labels.get(by, ""), labels.get("resource", "")


async def begins_later(prometheus: Prometheus, now: float, window: int) -> bool:
    """Return whether nothing of musterd was scraped in the first hour of so many seconds until now."""
    if window <= EARLY:
        return False
    return not await prometheus.ask(f"group(last_over_time(muster_build_info[{EARLY}s]))", now - window + EARLY)


def _hours(seconds: Mapping[str, float]) -> dict[Bucket, float]:
    """Return the hours, without productive seconds that were taken back: these are in their own bucket."""
    productive = max(0.0, seconds.get(Bucket.PRODUCTIVE, 0.0) - seconds.get(TAKEN_BACK, 0.0))
    return {Bucket.PRODUCTIVE: productive / 3600} | {each: seconds.get(each, 0.0) / 3600 for each in BADPUT}


@click.command(
    epilog="\b\nExamples:\n  muster usage --prometheus http://prometheus:9090\n"
    "  muster usage --by owner --owner-label team --since 7d\n"
    "  muster usage --since 30d -o csv > november.csv\n"
    "  muster usage -o json | jq '.items[] | {namespace, held}'\n"
)
@click.option(
    "--by", type=click.Choice(["namespace", "operator", "owner"]), default="namespace", help="What has a row."
)
@click.option("--owner-label", default="team", show_default=True, metavar="NAME", help="Label of runs, for --by owner.")
@click.option("--since", type=SPAN, default="30d", show_default=True, help="How long back from now.")
@output_option("csv")
@prometheus_options("The Prometheus that scrapes musterd.", "MUSTER_PROMETHEUS")
def usage(source: Source, by: str, owner_label: str, since: float, output: str | None) -> None:
    """Show how many hours of accelerators each namespace has held, and what they went into.

    An hour of a run with 8 accelerators is 8 hours. GOODPUT is the productive part of HELD. The buckets are those of
    `muster goodput`; OTHER has all that are neither productive nor wasted, and -o json and -o csv have each of them.

    musterd counts for all runs, while it leads. A figure may be off by the time between two scrapes for each run at a
    change of the leader.

    A second table has the hours that were wasted (stuck, spent on recovery, or lost work) by what they went to: a
    hang, a coordinator, a node, the program and so on. -o csv and -o json have them beside the buckets.

    With --by owner the parts are the values of a label that musterd's setting owner_labels names; runs without that
    label are in the row -. The row _other has what is beyond the first 100 namespaces, or values of a label.
    """
    if not source.url:
        raise click.UsageError("which Prometheus? Give --prometheus URL, or set MUSTER_PROMETHEUS")
    now = time.time()
    label = OwnerLabel(owner_label.removeprefix("label_")).name if by == "owner" else ""
    found, remarks = asyncio.run(patient(_found(source, by, now, max(1, int(since)), label), "asking Prometheus"))
    if output == "csv":
        data(_csv(found, by))
    elif output is not None:
        items = [_record(each, by) for each in found]
        show({"unit": "accelerator-hours", "since": stamp(now - since), "until": stamp(now), "items": items}, output)
    elif found:
        lost = _lost(found)
        data(*_table(found, by), *([""] if any(lost.values()) else []), *_lost_table(found, by, lost))
    say(*(f"muster: {remark}" for remark in remarks))


async def _found(source: Source, by: str, now: float, window: int, label: str) -> tuple[list[Usage], list[str]]:
    """Return the parts, and what their figures do not hold."""
    async with Prometheus(source) as prometheus:
        found = await used(prometheus, by, now, window, label)
        late = await begins_later(prometheus, now, window)
    remarks = list(prometheus.warnings)
    if late:
        remarks.append(
            f"{prometheus.place} has nothing of musterd from {age(window)} ago: it keeps less, or musterd was not "
            "scraped then; the figures are of what it has"
        )
    if not found:
        remarks.append(
            f"{prometheus.place} has no accelerators that were held in the last {age(window)}: does it scrape musterd?"
        )
    if label and not any(each.part for each in found):
        remarks.append(f"no run has {label}: name the label in musterd's setting owner_labels and in --owner-label")
    return found, remarks


def _table(found: Sequence[Usage], by: str) -> list[str]:
    wasted = [bucket for bucket in Bucket if bucket in WASTED]
    headings = ["HELD", "PRODUCTIVE", "GOODPUT", *(bucket.upper() for bucket in (*wasted, Bucket.OTHER))]
    rows = []
    for each in found:
        productive, lost = each.hours[Bucket.PRODUCTIVE], [each.hours[bucket] for bucket in wasted]
        shares = [f"{each.held:.1f}", f"{productive:.1f}", percent(productive / each.held)]
        rest = max(0.0, each.held - productive - sum(lost))
        rows.append((each, [*shares, *(f"{hours:.1f}" for hours in (*lost, rest))]))
    return _lines(found, rows, by, headings)


def _lines(
    found: Sequence[Usage], rows: Sequence[tuple[Usage, list[str]]], by: str, headings: Sequence[str]
) -> list[str]:
    """Return a table whose rows begin with the names of a part; without the cluster where none is named."""
    first = 0 if any(each.cluster for each in found) else 1
    named = ([printable(name) or "-" for name in (each.cluster, each.part, each.resource)] + row for each, row in rows)
    heads = ["CLUSTER", by.upper(), "RESOURCE", *headings]
    return Table(heads[first:]).lines((row[first:] for row in named), headings=True)


def _lost(found: Sequence[Usage]) -> dict[str, float]:
    sums = {cause: sum(each.lost.get(cause, 0.0) for each in found) for each in found for cause in each.lost}
    return dict(sorted(sums.items(), key=lambda one: (-one[1], one[0])))


def _lost_table(found: Sequence[Usage], by: str, lost: Mapping[str, float]) -> list[str]:
    causes = [cause for cause, hours in lost.items() if hours >= 0.05]
    most = sorted(((each, sum(each.lost.values())) for each in found), key=lambda one: -one[1])
    rows = [
        (each, [f"{hours:.1f}", *(f"{each.lost.get(cause, 0.0):.1f}" for cause in causes)])
        for each, hours in most
        if hours >= 0.05
    ]
    headings = ["WASTED", *(f"TO {printable(cause).upper()}" for cause in causes)]
    return _lines(found, rows, by, headings) if rows else []


def _record(each: Usage, by: str) -> dict[str, str | float]:
    """Return the hours as a flat record. ``lost_to_node`` is a part of the buckets that are wasted."""
    hours = {bucket.value: round(value, 4) for bucket, value in each.hours.items()}
    lost = {f"lost_to_{printable(cause)}": round(value, 4) for cause, value in each.lost.items()}
    return {
        "cluster": each.cluster,
        by: each.part,
        "resource": each.resource,
        "held": round(each.held, 4),
        **hours,
        **lost,
    }


def _csv(found: Sequence[Usage], by: str) -> str:
    """Return the table as CSV. A text that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    causes = sorted({f"lost_to_{printable(cause)}" for each in found for cause in each.lost})
    columns = ["cluster", by, "resource", "held", *Bucket, *causes]
    rows = csv.DictWriter(text, columns, restval=0.0, lineterminator="\n")
    rows.writeheader()
    for each in found:
        record = _record(each, by)
        texts = {key: printable(value) for key, value in record.items() if isinstance(value, str)}
        rows.writerow({**record, **{k: f"'{v}" if v.startswith(tuple("=+-@")) else v for k, v in texts.items()}})
    return text.getvalue().rstrip("\n")
