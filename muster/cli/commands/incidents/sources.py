"""Incidents, read from a musterd that leads or from the Events of the runs, and the lines that show them.

musterd knows incidents as they are. The API server has only its Events: each is of one run that is Stuck, and names
cause and subject. The API server keeps an Event for an hour unless it is set to another time, so a run that has been
Stuck for longer may be in no incident here.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import click

from muster.api.errors import ApiError, MusterError
from muster.api.values.accelerators import USUAL, words
from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.cli.musterd_page import asked, shown
from muster.cli.options import local_home
from muster.cli.terminal.patience import patient
from muster.client import Client, Snapshot
from muster.client.explaining.style import BAD, since
from muster.client.snapshot import EventSummary, event_summary, uids_of
from muster.kube.resources import core
from muster.kube.unstructured import mapping, moment, text
from muster.rollcall.document import IncidentListing, IncidentReport, NodeListing, stamp
from muster.state.facts.incidents.grouping import REASON, Key, announced
from muster.state.facts.incidents.subjects import remedy
from muster.state.summary.hurt import blocks, lasting

HEADINGS: Final = ("SUBJECT", "CAUSE", "RUNS", "ACCELERATORS", "SINCE", "WHAT TO DO")
SHOWN: Final = 3
"""Incidents above the experiments."""


def row(one: IncidentReport, now: float) -> tuple[str, ...]:
    """Return the cells of one incident."""
    return (
        printable(f"{one.kind} {one.subject}"),
        printable(one.cause) or "-",
        str(len(one.runs)),
        _accelerators(one) or "-",
        since(moment(one.since), now) or "-",
        printable(one.remedy),
    )


def above(found: Sequence[IncidentReport], now: float, where: str) -> list[str]:
    """Return the lines above a list of experiments: the first incidents, and how many more there are ``where``."""
    lines = []
    for each in found[:SHOWN]:
        sentence = lasting(each.sentence, since(moment(each.since), now), _accelerators(each))
        lines.append(click.style(f"incident: {printable(sentence)}", fg=BAD))
    if len(found) > SHOWN:
        lines.append(f"and {count_of(len(found) - SHOWN, 'more incident')}: muster incidents {where}")
    return lines


def _accelerators(one: IncidentReport) -> str:
    return printable(words(USUAL.of(tuple(one.devices.items()))))


L = TypeVar("L", IncidentListing, NodeListing)
NOT_LOOKED: Final = (
    "the musterd at {} does not lead, or has just begun to, and knows nothing yet: ask the one that leads, "
    "or leave --page out"
)


async def from_page(kind: type[L], url: str, token: str = "") -> L:
    """Return what the musterd at that address shows to the owner of ``token``. Raises ``MusterError``."""
    path = "/incidents.json" if kind is IncidentListing else "/nodes.json"
    found = await patient(asked(url, path, kind, token), "asking musterd")
    if not found.looked:
        raise MusterError(NOT_LOOKED.format(shown(url, token)))
    return found


def local_page(client: Client) -> str:
    """Return the address of the musterd of ``muster local up``, where the client is of that cluster; else empty."""
    home = local_home(client)
    note = home.noted_daemon() if home is not None else None
    return note.url if note is not None else ""


async def from_events(client: Client, found: Iterable[Snapshot], namespace: str | None) -> list[IncidentReport]:
    """Return the incidents that Stuck runs among ``found`` are part of, as their last Event shows; the largest first.

    ``namespace`` None: Events of all namespaces. Raises ``ApiError``.
    """
    stuck = {seen.uid: seen for seen in found if not seen.finished and seen.holds("Stuck")}
    subjects = {uid: seen for seen in stuck.values() for uid in uids_of(seen)}
    raw = await client.resources.list(core(namespace, "events"), {"fieldSelector": f"reason={REASON}"})
    last: dict[str, EventSummary] = {}
    for event, each in sorted(((event_summary(each), each) for each in raw), key=lambda one: one[0].at or 0):
        seen = subjects.get(text(mapping(each.get("involvedObject")), "uid"))
        its_own = seen is not None and text(mapping(each.get("metadata")), "namespace") == seen.namespace
        if seen is not None and its_own and event.reason == REASON and _of_now(event, seen):
            last[seen.uid] = event
    runs: defaultdict[Key, list[Snapshot]] = defaultdict(list)
    for uid, event in last.items():
        if key := announced(event.about):
            runs[key].append(stuck[uid])
    reports = [_report(key, some) for key, some in runs.items()]
    return sorted(reports, key=lambda each: (-sum(each.devices.values()), -len(each.runs), each.subject))


async def lines_above(client: Client, found: Iterable[Snapshot], namespace: str | None) -> list[str]:
    """Return the lines above a list of experiments; if one of them is Stuck and Events cannot be read, the reason."""
    found = list(found)
    if not any(seen.holds("Stuck") for seen in found):
        return []
    try:
        where = "-A" if namespace is None else f"-n {namespace}"
        return above(await from_events(client, found, namespace), time.time(), where)
    except ApiError as error:
        return [printable(f"incidents are not known: {error}")]


def _of_now(event: EventSummary, seen: Snapshot) -> bool:
    """Return whether an Event is about the present trouble. The time of an Event has whole seconds."""
    stuck = seen.condition("Stuck")
    return seen.watched is not None or stuck is None or (event.at or 0) >= int(stuck.since)


def _report(key: Key, runs: Sequence[Snapshot]) -> IncidentReport:
    devices: defaultdict[str, int] = defaultdict(int)
    for seen in runs:
        for each in seen.status.devices:
            devices[printable(each.resource)] += each.count
    namespaces = {seen.namespace for seen in runs}
    stuck_as = (seen.condition("Stuck") for seen in runs if seen.watched is None)  # that of a watched run has no cause
    reasons = Counter(stuck.reason for stuck in stuck_as if stuck is not None)
    causes = sorted(reasons, key=lambda each: (-reasons[each], each))[:1]
    times = [stuck.since for seen in runs if (stuck := seen.condition("Stuck")) is not None]
    return IncidentReport(
        kind=key.kind,
        subject=printable(key.subject),
        cause=printable("".join(causes)),
        namespace=printable(namespaces.pop()) if len(namespaces) == 1 else "",
        since=stamp(min(times, default=None)),
        sentence=printable(blocks(f"{key.kind} {key.subject}", causes, [seen.namespace for seen in runs], None)),
        remedy=remedy(key.kind, printable(key.subject)),
        ranks=None,
        devices=dict(devices),
        runs=sorted(printable(f"{seen.namespace}/{seen.name}") for seen in runs),
    )
