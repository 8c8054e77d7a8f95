"""The hours of accelerators that were held, by what they went into, as a Prometheus that scrapes musterd has them.

By namespace and by operator they are increases of ``muster_namespace_accelerator_seconds_total``:

- Each musterd counts while it leads, in its own process, so the increases of all processes are added. Those of standbys
  are 0, and a shard counts its own namespaces alone.
- One process may be scraped twice: by two jobs, or by two replicas of Prometheus that Thanos or Mimir does not
  deduplicate. So the largest increase counts of those with the same ``cluster``, ``shard``, ``instance`` and ``pod``.
- A process that starts begins at 0. ``increase`` goes on from there, also where it has the labels of the one before.

What was lost, by cause, comes from ``muster_namespace_accelerator_lost_seconds_total`` in the same way.

By owner there are no such counters. The increase of each run's own seconds is multiplied by the mean of the
accelerators that it held while it held any, and belongs to the label of ``muster_experiment_info``, also where the run
has ended or is deleted. What is off: a run of changing size is counted by the mean; its time in queued and scheduling
is left out; of a name that two owners have used within the window all is one owner's, the present one's where there is
one. A run beyond the cap of series has none, so the sum is compared with that of the counters.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from muster.api.goodput import BADPUT, Bucket
from muster.cli.commands.goodput.prometheus import Prometheus, quoted

COUNTER: Final = "muster_namespace_accelerator_seconds_total"
LOST: Final = "muster_namespace_accelerator_lost_seconds_total"
TAKEN_BACK: Final = "taken_back"
_PROCESS: Final = "cluster, shard, instance, pod"
_RUN: Final = "cluster, namespace, experiment"
_Key = tuple[str, str, str]
EARLY: Final = 3600
"""Seconds from the beginning in which something must have been scraped, else the figures begin later."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one part has held of one kind of accelerator: hours by bucket, those that are productive among them."""

    cluster: str
    part: str
    resource: str
    hours: Mapping[Bucket, float]
    lost: Mapping[str, float] = field(default_factory=dict)
    """Hours that were stuck, lost or spent on recovery, by cause; empty where that is not known."""

    @property
    def held(self) -> float:
        """All of them."""
        return sum(self.hours.values())


def by_counters(by: str, window: int, counter: str = COUNTER, of: str = "bucket") -> str:
    """Return the expression for the seconds of each namespace or operator, by bucket or by cause."""
    labels = f"cluster, resource, {of}" + (f", {by}" if by else "")
    each = f"max by ({_PROCESS}, namespace, operator, resource, {of}) (increase({counter}[{window}s]))"
    return f"sum by ({labels}) ({each})"


def by_owner(label: str, resource: str, window: int) -> str:
    """Return the expression for the seconds of each value of a label of owners, on one resource."""

    def seconds(kind: str, source: str = "", chosen: str = "") -> str:
        series = f"muster_experiment_{kind}_seconds_total{chosen}[{window}s]"
        return f"sum by ({_RUN}{source}) (max by ({_PROCESS}, namespace, experiment{source}) (increase({series})))"

    badput = seconds("badput", ", source", f'{{source!~"{Bucket.QUEUED}|{Bucket.SCHEDULING}"}}')
    kinds = [
        f'label_replace({seconds(Bucket.PRODUCTIVE)}, "bucket", "{Bucket.PRODUCTIVE}", "", "")',
        f'label_replace({seconds(TAKEN_BACK)}, "bucket", "{TAKEN_BACK}", "", "")',
        f'label_replace({badput}, "bucket", "$1", "source", "(.+)")',
    ]
    accelerators = f"muster_experiment_accelerators{{resource={quoted(resource)}}}[{window}s]"
    info = "muster_experiment_info"
    owner = f"topk by ({_RUN}) (1, max by ({_RUN}, {label}) (2 * {info} or last_over_time({info}[{window}s]))) ^ 0"
    return (
        f"label_replace(sum by (cluster, {label}, bucket) (({' or '.join(kinds)})"
        f" * on ({_RUN}) group_left () max by ({_RUN}) (avg_over_time({accelerators}))"
        f' * on ({_RUN}) group_left ({label}) ({owner})), "resource", {quoted(resource)}, "", "")'
    )


async def used(prometheus: Prometheus, part: str, now: float, window: int) -> list[Usage]:
    """Return what each part has held in so many seconds until now, the most first.

    ``part`` is namespace, operator, a label of owners as metrics have it, or empty for all together.
    """
    lost: dict[_Key, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    if part.startswith("label_"):
        query = f"group by (resource) (last_over_time(muster_experiment_accelerators[{window}s]))"
        resources = sorted(labels.get("resource", "") for labels, _ in await prometheus.ask(query, now))
        queries = (by_owner(part, resource, window) for resource in resources)
        answers = await asyncio.gather(*(prometheus.ask(query, now) for query in queries))
        found = list(chain.from_iterable(answers))
    else:
        asked = [by_counters(part, window), by_counters(part, window, LOST, "cause")]
        found, to_causes = await asyncio.gather(*(prometheus.ask(query, now) for query in asked))
        for labels, value in to_causes:
            lost[_key(labels, part)][labels.get("cause", "other")] += value / 3600
    seconds: dict[_Key, dict[str, float]] = defaultdict(dict)
    for labels, value in found:
        seconds[_key(labels, part)][labels.get("bucket", "")] = value
    several = (Usage(*key, _hours(sums), lost[key]) for key, sums in seconds.items())
    return sorted((each for each in several if each.held > 0), key=lambda each: (-each.held, each.part, each.resource))


def _key(labels: Mapping[str, str], part: str) -> _Key:
    return labels.get("cluster", ""), labels.get(part, ""), labels.get("resource", "")


async def begins_later(prometheus: Prometheus, now: float, window: int) -> bool:
    """Return whether nothing of musterd was scraped in the first hour of so many seconds until now."""
    if window <= EARLY:
        return False
    return not await prometheus.ask(f"group(last_over_time(muster_build_info[{EARLY}s]))", now - window + EARLY)


def _hours(seconds: Mapping[str, float]) -> dict[Bucket, float]:
    """Return the hours, without productive seconds that were taken back: these are in their own bucket."""
    productive = max(0.0, seconds.get(Bucket.PRODUCTIVE, 0.0) - seconds.get(TAKEN_BACK, 0.0))
    return {Bucket.PRODUCTIVE: productive / 3600} | {each: seconds.get(each, 0.0) / 3600 for each in BADPUT}
