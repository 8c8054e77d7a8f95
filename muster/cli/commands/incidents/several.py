"""Sources of ``muster incidents`` and ``muster nodes``: one musterd, the shards of one cluster, or several clusters.

A subject of several shards is one: a rack that dies keeps runs of each of them. A subject of several clusters is
several: nodes of one name are other machines there.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

import click
from msgspec import to_builtins
from msgspec.structs import replace

from muster.api.values.printable import printable
from muster.cli.commands.contexts import MOST, ClusterAnswer, answer, choices, conclude, contexts_option, named
from muster.cli.options import ClusterChoice, all_of, read_token, token_option
from muster.cli.terminal.table import Table
from muster.rollcall.document import IncidentListing, IncidentReport, NodeListing, NodeReport
from muster.state.summary.hurt import blocks

L = TypeVar("L", IncidentListing, NodeListing)
R = TypeVar("R", IncidentReport, NodeReport)
PATIENCE: Final = 30.0
"""Seconds in which each of several must answer: a cluster is asked for experiments, watched runs and Events."""
CONTEXT: Final = "CONTEXT"
SHARD: Final = "SHARD"
Places = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed(Generic[R]):
    """An incident or a node, and the shards or the cluster that it is of."""

    places: Places
    report: R


@dataclass(frozen=True, slots=True)
class Answers(Generic[L]):
    """The answers of all, and the heading of their places: ``SHARD``, ``CONTEXT``, or empty where one is asked."""

    places: str
    all: Sequence[ClusterAnswer[L]]

    def listings(self) -> Iterator[tuple[str, L]]:
        """Yield each place that answered, with what it has."""
        return ((each.place, each.found) for each in self.all if each.found is not None)

    @property
    def complete(self) -> bool:
        """Return True if all answered."""
        return not any(each.problem for each in self.all)

    @property
    def shard(self) -> str:
        """Return the name of the only musterd that was asked."""
        return "" if self.places else next((listing.shard for _, listing in self.listings()), "")

    def conclude(self) -> None:
        """Name those that did not answer; the exit status is then 1."""
        conclude(self.all, "context" if self.places == CONTEXT else "page")

    def placed(
        self, of: Callable[[L], Iterable[R]], subject: Callable[[R], object]
    ) -> Iterator[tuple[Places, list[R]]]:
        """Yield the reports of each subject, with their places. A name in two clusters is that of two subjects."""
        found: defaultdict[tuple[object, str], list[tuple[str, R]]] = defaultdict(list)
        for place, listing in self.listings():
            for each in of(listing):
                found[subject(each), place if self.places == CONTEXT else ""].append((place, each))
        for same in found.values():
            yield tuple(place for place, _ in same), [each for _, each in same]

    def documents(self, found: Sequence[Placed[R]]) -> list[dict[str, object]]:
        """Return the reports as data: with the ``context``, or with the ``shards`` that have each."""

        def where(places: Places) -> dict[str, object]:
            if self.places == CONTEXT:
                return {"context": places[0]}
            return {"shards": places} if self.places else {}

        return [{**where(each.places), **to_builtins(each.report)} for each in found]


def table(place: str, headings: Sequence[str], rows: Iterable[tuple[Places, Sequence[str]]]) -> list[str]:
    """Return the lines of a table, whose first column ``place`` has the places of each row, where several are asked."""
    first = 0 if place else 1
    cells = [[", ".join(places), *row][first:] for places, row in rows]
    return Table((place, *headings)[first:]).lines(cells, headings=True)


source_options = all_of(
    click.option(
        "--page",
        default="",
        metavar="URL[,URL]",
        help="Ask the leading musterd, by its page; several are the shards of one cluster.",
    ),
    contexts_option,
    token_option,
)
"""The options that choose what is asked."""


async def asked(
    chosen: ClusterChoice,
    page: str,
    contexts: str,
    token_file: Path | None,
    ask: Callable[[ClusterChoice, str, str], Awaitable[L]],
) -> Answers[L]:
    """Return the answer of the chosen cluster, of each page (named by its shard, else by its address) or context.

    ``ask`` gets a cluster, a page and a token. Raises ``UsageError``, and ``MusterError`` where the only one that is
    asked does not answer.
    """
    pages = named(page)
    if token_file is not None and not pages:
        raise click.UsageError("--token-file goes with --page")
    if pages and contexts:
        raise click.UsageError("--page and --contexts exclude each other")
    if len(pages) > MOST:
        raise click.UsageError(f"--page names {len(pages)} addresses, and at most {MOST} are asked")
    if contexts:
        of_each = (answer(name, ask(choice, "", ""), PATIENCE) for name, choice in choices(chosen, contexts).items())
        return Answers(CONTEXT, await asyncio.gather(*of_each))
    token = read_token(token_file)
    if len(pages) < 2:
        return Answers("", [ClusterAnswer("", await ask(chosen, "".join(pages), token))])
    found = await asyncio.gather(
        *(answer(urlsplit(url).netloc.rpartition("@")[2] or url, ask(chosen, url, token), PATIENCE) for url in pages)
    )
    return Answers(SHARD, [_by_shard(each) for each in found])


def _by_shard(one: ClusterAnswer[L]) -> ClusterAnswer[L]:
    shard = one.found.shard if one.found is not None else ""
    return ClusterAnswer(printable(shard), one.found) if shard else one


def incidents_of(answers: Answers[IncidentListing]) -> list[Placed[IncidentReport]]:
    """Return the incidents of all that answered, the most urgent first; of shards each subject once."""
    found = answers.placed(lambda listing: listing.incidents, lambda one: (one.kind, one.subject))
    placed = [Placed(places, _one(reports)) for places, reports in found]

    def order(one: Placed[IncidentReport]) -> tuple[bool, int, int]:
        return bool(one.report.namespace), -sum(one.report.devices.values()), -len(one.report.runs)

    return sorted(placed, key=order)


def _one(reports: Sequence[IncidentReport]) -> IncidentReport:
    """Return one incident of those that several shards have of one subject. A run belongs to one shard."""
    if len(reports) == 1:
        return reports[0]
    largest = max(reports, key=lambda each: len(each.runs))
    devices = Counter[str]()
    for each in reports:
        devices.update(each.devices)
    runs = sorted({run for each in reports for run in each.runs})
    ranks = [each.ranks for each in reports if each.ranks is not None]
    namespaces = {each.namespace for each in reports}
    held = sum(ranks) if len(ranks) == len(reports) else None
    subject, causes = f"{largest.kind} {largest.subject}", [largest.cause] if largest.cause else []
    return replace(
        largest,
        runs=runs,
        devices=dict(devices),
        ranks=held,
        since=min(each.since for each in reports),
        namespace=largest.namespace if len(namespaces) == 1 else "",
        sentence=blocks(subject, causes, [run.partition("/")[0] for run in runs], held),
        phases=list(dict.fromkeys(phase for each in reports for phase in each.phases)),
        flaps=max(each.flaps for each in reports),
    )


def nodes_of(answers: Answers[NodeListing]) -> list[Placed[NodeReport]]:
    """Return the nodes of all that answered, suspects first and then by runs; of shards each node once.

    What makes a node suspect comes from the runs of one shard, so it stays with the shard that has most of them.
    """
    placed = []
    for places, reports in answers.placed(lambda listing: listing.nodes, lambda one: one.node):
        worst = max(reports, key=lambda each: (bool(each.suspect), len(each.failures)))
        failures = sorted((one for each in reports for one in each.failures), key=lambda one: one.last, reverse=True)
        placed.append(Placed(places, replace(worst, failures=failures)))
    return sorted(placed, key=lambda one: (not one.report.suspect, -len(one.report.failures), one.report.node))
