"""Several musterds at once: the pages of the shards of one cluster, or several clusters by their contexts.

One that does not answer hides none of the others: it is named, and the exit status is 1. A subject of several shards is
one: a rack that dies keeps runs of each of them. A subject of several clusters is several: nodes of one name are other
machines there.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

import click
from msgspec import to_builtins
from msgspec.structs import replace

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.cli.commands.contexts import choices
from muster.cli.options import ClusterChoice
from muster.cli.terminal.colours import say
from muster.rollcall.document import IncidentListing, IncidentReport, NodeListing, NodeReport

L = TypeVar("L", IncidentListing, NodeListing)
R = TypeVar("R", IncidentReport, NodeReport)
PATIENCE: Final = 30.0
"""Seconds in which each must answer: a cluster is asked for experiments, watched runs and Events."""
MOST: Final = 32


@dataclass(frozen=True, slots=True)
class Answer(Generic[L]):
    """What one of them has, or why that is not known."""

    place: str
    found: L | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Placed(Generic[R]):
    """An incident or a node, and the shards or the cluster that it is of."""

    places: tuple[str, ...]
    report: R


def pages_of(page: str, contexts: str) -> list[str]:
    """Return the addresses that ``--page`` names, each once. Raises ``UsageError``."""
    found = list(dict.fromkeys(filter(None, (each.strip() for each in page.split(",")))))
    if found and contexts:
        raise click.UsageError("--page and --contexts exclude each other")
    if len(found) > MOST:
        raise click.UsageError(f"--page names {len(found)} addresses, and at most {MOST} are asked")
    return found


async def of_pages(pages: Sequence[str], ask: Callable[[str], Awaitable[L]]) -> list[Answer[L]]:
    """Return the answers of several musterds, by the names of their shards or else by their addresses."""
    hosts = (urlsplit(page).netloc.rpartition("@")[2] or page for page in pages)
    found = await asyncio.gather(*(_answer(host, ask(page)) for host, page in zip(hosts, pages, strict=True)))
    return [Answer(each.found.shard, each.found) if each.found and each.found.shard else each for each in found]


async def of_contexts(
    chosen: ClusterChoice, contexts: str, ask: Callable[[ClusterChoice], Awaitable[L]]
) -> list[Answer[L]]:
    """Return the answers of several clusters."""
    asked = (_answer(name, ask(choice)) for name, choice in choices(chosen, contexts).items())
    return list(await asyncio.gather(*asked))


async def _answer(place: str, asked: Awaitable[L]) -> Answer[L]:
    try:
        async with asyncio.timeout(PATIENCE):
            return Answer(printable(place), await asked)
    except TimeoutError:
        return Answer(printable(place), problem=f"no answer within {PATIENCE:g} s")
    except (MusterError, OSError) as error:
        return Answer(printable(place), problem=printable(str(error)))


def incidents_of(answers: Iterable[Answer[IncidentListing]], *, merged: bool) -> list[Placed[IncidentReport]]:
    """Return the incidents of all that answered, the most urgent first; of shards each subject once."""
    found: defaultdict[tuple[str, ...], list[tuple[str, IncidentReport]]] = defaultdict(list)
    for answer in answers:
        for each in answer.found.incidents if answer.found is not None else ():
            found[each.kind, each.subject, "" if merged else answer.place].append((answer.place, each))
    placed = [Placed(tuple(place for place, _ in some), _one([each for _, each in some])) for some in found.values()]
    return sorted(placed, key=lambda one: (-sum(one.report.devices.values()), -len(one.report.runs)))


def _one(reports: Sequence[IncidentReport]) -> IncidentReport:
    """Return one incident of those that several shards have of one subject. A run belongs to one shard."""
    if len(reports) == 1:
        return reports[0]
    largest = max(reports, key=lambda each: len(each.runs))
    devices: defaultdict[str, int] = defaultdict(int)
    for each in reports:
        for resource, number in each.devices.items():
            devices[resource] += number
    runs = sorted({run for each in reports for run in each.runs})
    ranks = [each.ranks for each in reports if each.ranks is not None]
    namespaces = {each.namespace for each in reports}
    cause = f": {largest.cause}" if largest.cause else ""
    return replace(
        largest,
        runs=runs,
        devices=dict(devices),
        ranks=sum(ranks) if len(ranks) == len(reports) else None,
        since=min(each.since for each in reports),
        namespace=largest.namespace if len(namespaces) == 1 else "",
        sentence=f"{largest.kind} {largest.subject}{cause} blocks {len(runs)} runs",
        phases=list(dict.fromkeys(phase for each in reports for phase in each.phases)),
        flaps=max(each.flaps for each in reports),
    )


def nodes_of(answers: Iterable[Answer[NodeListing]], *, merged: bool) -> list[Placed[NodeReport]]:
    """Return the nodes of all that answered, suspects first and then by runs; of shards each node once.

    What makes a node suspect is said of the runs of one shard, so it stays with the shard that has most of them.
    """
    found: defaultdict[tuple[str, str], list[tuple[str, NodeReport]]] = defaultdict(list)
    for answer in answers:
        for each in answer.found.nodes if answer.found is not None else ():
            found[each.node, "" if merged else answer.place].append((answer.place, each))
    placed = []
    for some in found.values():
        worst = max((each for _, each in some), key=lambda each: (bool(each.suspect), len(each.failures)))
        failures = sorted((one for _, each in some for one in each.failures), key=lambda one: one.last, reverse=True)
        placed.append(Placed(tuple(place for place, _ in some), replace(worst, failures=failures)))
    return sorted(placed, key=lambda one: (not one.report.suspect, -len(one.report.failures), one.report.node))


def document(one: Placed[IncidentReport] | Placed[NodeReport], *, clustered: bool) -> dict[str, object]:
    """Return the incident as data: with its ``context``, or with the ``shards`` that have it."""
    where: dict[str, object] = {"context": one.places[0]} if clustered else {"shards": list(one.places)}
    return {**where, **to_builtins(one.report)}


def conclude(answers: Iterable[Answer[IncidentListing]] | Iterable[Answer[NodeListing]], kind: str) -> None:
    """Name those that did not answer; the exit status is then 1."""
    problems = [each for each in answers if each.problem]
    for each in problems:
        say(f"muster: {kind} {each.place}: {each.problem}")
    if problems:
        raise click.exceptions.Exit(1)
