"""Renders the pages of a reader: the experiments that it may see, as the daemon knows them at this moment."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from muster.api.values.accelerators import USUAL, Accelerators
from muster.daemon.web.fleet import Filters, Query, fleet, listing, shown_rows
from muster.daemon.web.page.document import Runbooks
from muster.daemon.web.page.experiment import story
from muster.daemon.web.page.fleet import PAGE, overview
from muster.daemon.web.page.html import Part
from muster.daemon.web.readers import Anyone, Reader, Refused
from muster.metrics.collector import Subject
from muster.rollcall.document import Detail, IncidentListing, Listing, NodeListing, NodeReport
from muster.rollcall.make import detail, incident
from muster.rollcall.seats import benches
from muster.state.facts.incidents.incident import Incident
from muster.state.facts.incidents.signs import Run
from muster.state.facts.incidents.tracking import Tracking

DIGITS = 7
"""Most digits of a row's number."""


class _Index(Protocol):
    def subjects(self) -> Iterable[Subject]: ...

    def find(self, namespace: str, name: str) -> Subject | None: ...


@dataclass(eq=False)
class Pages:
    """The pages of one daemon. Experiments may come and go while ``index`` yields them."""

    index: _Index
    role: Callable[[], str]
    clock: Callable[[], float]
    """Gives wall seconds."""
    runbooks: str = ""
    """The address of the runbooks."""
    accelerators: Accelerators = USUAL
    tracking: Callable[[], Tracking] = Tracking
    known_nodes: Callable[[], NodeListing] = NodeListing
    shard: str = ""
    """The name of this daemon among several."""
    complete: Callable[[], bool] = lambda: True
    """True once it has read all experiments and pods. Before that, pods that it has not read would count as lost."""

    def _read(self) -> _Index:
        """Return the index. Raises ``Refused`` before all experiments and pods are in it."""
        if not self.complete():
            raise Refused(503, "This daemon has not read all experiments and pods yet; /readyz has what it waits for.")
        return self.index

    def find(self, namespace: str, name: str) -> Subject:
        """Return the experiment of that name. Raises ``Refused``."""
        if (subject := self._read().find(namespace, name)) is not None:
            return subject
        role = self.role()
        known = f"This daemon{f' ({role})' if role else ''} knows no experiment of that namespace and name."
        raise Refused(404, known)

    async def readable(self, reader: Reader) -> tuple[Iterable[Subject], str]:
        """Return the experiments that the reader may list, and a sentence about the scope if those are not all."""
        index = self._read()
        if await reader.sees_all():
            return index.subjects(), ""
        namespaces: Collection[str] = await reader.namespaces(one.plan.namespace for one in index.subjects())
        few = (one for one in index.subjects() if one.plan.namespace in namespaces)
        return few, f"Those in namespaces where {reader.name} may list experiments."

    async def listing(self, reader: Reader, parameters: Iterable[tuple[str, str]]) -> Listing:
        """Return the page of the listing that the parameters ask for. Raises ``Refused``."""
        query = Query.of(parameters)
        subjects, _ = await self.readable(reader)
        return await listing(subjects, self.clock(), query)

    async def incidents(self, reader: Reader) -> list[Incident]:
        """Return the incidents, with those runs that the reader may list."""
        found = self.tracking().shown
        if not found or await reader.sees_all():
            return list(found)
        namespaces = await reader.namespaces(name for each in found for name in each.namespaces)
        return [seen for each in found if (seen := each.within(namespaces)).members]

    async def incident_listing(self, reader: Reader) -> IncidentListing:
        """Return the incidents as a document."""
        shown, tracking = await self.incidents(reader), self.tracking()
        return IncidentListing(
            incidents=[incident(each) for each in shown],
            hidden=tracking.hidden,
            looked=tracking.looked,
            shard=self.shard,
        )

    async def nodes(self, reader: Reader) -> NodeListing:
        """Return the nodes that failed runs; for a reader with few rights, only readable runs and no suspects."""
        found = replace(await asyncio.to_thread(self.known_nodes), shard=self.shard)
        if await reader.sees_all():
            return found
        mine = await reader.namespaces({one.namespace for each in found.nodes for one in each.failures})
        kept = {each.node: [one for one in each.failures if one.namespace in mine] for each in found.nodes}
        return replace(found, nodes=[NodeReport(node=node, failures=some) for node, some in kept.items() if some])

    async def fleet(self, reader: Reader, query: Mapping[str, str]) -> tuple[Part, str]:
        """Return the page of all experiments: its main part, and the whole document."""
        subjects, scope = await self.readable(reader)
        filters, now = Filters.of(query), self.clock()
        incidents = await self.incidents(reader)
        begin = query.get("begin", "")
        first = int(begin) if begin.isascii() and begin.isdigit() and len(begin) <= DIGITS else 0
        shown = await fleet(
            subjects,
            now,
            filters,
            begin=first,
            limit=PAGE,
            accelerators=self.accelerators,
            explained=frozenset().union(*(each.explains for each in incidents)),
        )
        rows = await shown_rows(shown.rows, now)
        kept = filters.stated() | ({"begin": str(first)} if first else {}) | _still(query)
        return await asyncio.to_thread(
            overview,
            shown,
            rows,
            filters,
            kept,
            scope=scope,
            role=self.role(),
            now=now,
            runbooks=Runbooks(self.runbooks),
            accelerators=self.accelerators,
            found=incidents,
            shard=self.shard,
            suspects=[each for each in (await self.nodes(reader)).nodes if each.suspect],
        )

    def document(self, subject: Subject) -> Detail:
        """Return everything about one experiment."""
        return detail(subject.at(self.clock()))

    def experiment(self, reader: Reader, subject: Subject, query: Mapping[str, str]) -> tuple[Part, str]:
        """Return the page of one experiment: its main part, and the whole document.

        It links to the bundle of the run if the reader has a token, with which that is read.
        """
        now = self.clock()
        case = subject.at(now)
        found = benches(case)
        incident = self.tracking().explaining(Run(subject.plan.namespace, subject.plan.title))
        document = detail(case, found)
        return story(
            document,
            found,
            _still(query),
            role=self.role(),
            now=now,
            runbooks=Runbooks(self.runbooks),
            bundles=not isinstance(reader, Anyone),
            shard=self.shard,
            found=incident,
        )


def _still(query: Mapping[str, str]) -> dict[str, str]:
    return {"refresh": "no"} if query.get("refresh") == "no" else {}
