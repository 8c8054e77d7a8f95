"""The hours of accelerators that were held, by what they went into, as a Prometheus that scrapes musterd has them.

They are increases of ``muster_namespace_accelerator_seconds_total`` and, by owner, of
``muster_owner_accelerator_seconds_total``:

- Each musterd counts while it leads, in its own process, so the increases of all processes are added. Those of standbys
  are 0, and a shard counts its own namespaces alone.
- One process may be scraped twice: by two jobs, or by two replicas of Prometheus that Thanos or Mimir does not
  deduplicate. So the largest increase counts of those with the same ``cluster``, ``shard``, ``instance`` and ``pod``.
- A process that starts begins at 0. ``increase`` continues from there, also if it has the labels of the one before.

Lost hours, by cause, come from ``muster_namespace_accelerator_lost_seconds_total`` and
``muster_owner_accelerator_lost_seconds_total`` in the same way.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from muster.api.goodput import BADPUT, Bucket
from muster.cli.commands.goodput.prometheus import Prometheus, quoted

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
