"""A Kubernetes API server in memory, behind the same door as the real one (`muster.api.wire.Transport`).

It keeps what clients rely on: one growing resourceVersion, a uid per object, 409 for a taken name, preconditions,
the status subresource, graceful deletion of pods, label selectors, pages, and watches from a resourceVersion. What goes
wrong is scripted: an error before a request is carried out, or after it (the answer that is lost).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from muster.api.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from muster.api.wire import Answer

Object = dict[str, Any]
KINDS = {"pods": "Pod", "services": "Service", "events": "Event", "experiments": "Experiment"}


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    params: Mapping[str, str]
    body: Any

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(slots=True)
class Fault:
    """What goes wrong with the next ``times`` requests whose ``METHOD path`` contains ``where``."""

    where: str
    error: ApiError
    after: bool
    times: int


class FakeApi:
    """Objects by path. ``clock`` gives wall seconds; ``requests`` remembers what was asked, in order."""

    def __init__(self, clock: Callable[[], float] = lambda: 0.0) -> None:
        self.objects: dict[str, Object] = {}
        self.requests: list[Request] = []
        self.under_way = 0
        self.busiest = 0
        self.gate = asyncio.Event()
        """While it is cleared, requests wait at the door."""
        self.gate.set()
        self._arrival = asyncio.Event()
        self._clock = clock
        self._version = 0
        self._uids = 0
        self._faults: list[Fault] = []
        self._history: list[tuple[int, str, str, Object]] = []
        self._news = asyncio.Event()

    # What tests do to the world

    def fail(self, where: str, error: ApiError, *, after: bool = False, times: int = 1) -> None:
        """Script a fault; ``after``: the request is carried out first, and only its answer is lost."""
        self._faults.append(Fault(where, error, after, times))

    def put(self, path: str, obj: Object) -> Object:
        """Create or replace an object as somebody else would; what the server keeps of it."""
        old = self.objects.get(path)
        kept = deepcopy(obj)
        metadata = kept.setdefault("metadata", {})
        metadata["name"] = path.rsplit("/", 1)[1]
        metadata["uid"] = old["metadata"]["uid"] if old else metadata.get("uid") or self._uid()
        metadata.setdefault("creationTimestamp", self._now())
        return self._keep("MODIFIED" if old else "ADDED", path, kept)

    def remove(self, path: str) -> None:
        """An object goes for good: a kubelet reports that a pod has ended, a collector has collected."""
        self._keep("DELETED", path, self.objects[path])
        del self.objects[path]

    def named(self, kind: str) -> list[str]:
        """The names of the objects of a plural kind, sorted."""
        return sorted(obj["metadata"]["name"] for path, obj in self.objects.items() if path.split("/")[-2] == kind)

    def asked(self, where: str) -> list[Request]:
        """The requests whose ``METHOD path`` contains ``where``."""
        return [request for request in self.requests if where in str(request)]

    async def crowd(self, number: int) -> None:
        """Wait until so many requests are under way."""
        while self.under_way < number:
            self._arrival.clear()
            await self._arrival.wait()

    # The door

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Answer:
        asked = Request(method, path, dict(params or {}), json.loads(body) if body else None)
        self.requests.append(asked)
        self.under_way += 1
        self._arrival.set()
        self.busiest = max(self.busiest, self.under_way)
        try:
            await asyncio.sleep(0)
            await self.gate.wait()
            fault = self._fault(asked)
            if fault and not fault.after:
                raise fault.error
            answer = {"GET": self._get, "POST": self._post, "PUT": self._replace, "DELETE": self._delete}[method](asked)
            if fault:
                raise fault.error
            return Answer(201 if method == "POST" else 200, json.dumps(answer).encode())
        finally:
            self.under_way -= 1

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        since = int(params.get("resourceVersion") or self._version)
        chosen = self._selector(params)

        async def events() -> AsyncIterator[bytes]:
            seen = since
            while True:
                if seen >= self._version:
                    self._news.clear()
                    await self._news.wait()
                for version, kind, where, obj in [entry for entry in self._history if entry[0] > seen]:
                    seen = version
                    if where.rpartition("/")[0] == path and chosen(obj):
                        yield json.dumps({"type": kind, "object": obj}).encode()

        yield events()

    # The verbs

    def _get(self, asked: Request) -> Object:
        if asked.path in self.objects or asked.path.rsplit("/", 1)[1] not in KINDS:
            return self._find(asked)
        return self._list(asked)

    def _list(self, asked: Request) -> Object:
        chosen = self._selector(asked.params)
        start = asked.params.get("continue", "")
        paths = [p for p in sorted(self.objects) if p.rpartition("/")[0] == asked.path and p > start]
        paths = [p for p in paths if chosen(self.objects[p])]
        page = paths[: int(asked.params.get("limit") or len(paths))]
        metadata = {"resourceVersion": str(self._version)}
        if len(page) < len(paths):
            metadata["continue"] = page[-1]
        return {"kind": "List", "metadata": metadata, "items": [self.objects[p] for p in page]}

    def _post(self, asked: Request) -> Object:
        path = f"{asked.path}/{asked.body['metadata']['name']}"
        if path in self.objects:
            raise AlreadyExists(f"{path} already exists", status=409, reason="AlreadyExists")
        kind = asked.path.rsplit("/", 1)[1]
        if asked.body["kind"] != KINDS[kind]:
            raise Invalid(f"a {asked.body['kind']} was sent to {asked.path}", status=400, reason="BadRequest")
        return self.put(path, {**asked.body, "metadata": {**asked.body["metadata"], "uid": None}})

    def _replace(self, asked: Request) -> Object:
        path = asked.path.removesuffix("/status")
        old = self.objects.get(path)
        if old is None:
            raise NotFound(f"{path} not found", status=404, reason="NotFound")
        for field in ("uid", "resourceVersion"):
            if (said := asked.body["metadata"].get(field)) and said != old["metadata"][field]:
                raise Conflict(f"{field} is {old['metadata'][field]}, not {said}", status=409, reason="Conflict")
        if asked.path != path:
            return self.put(path, {**old, "status": asked.body["status"]})
        return self.put(path, {**asked.body, "status": old.get("status")})

    def _delete(self, asked: Request) -> Object:
        found = self._find(asked)
        options = asked.body or {}
        uid = options.get("preconditions", {}).get("uid")
        if uid and uid != found["metadata"]["uid"]:
            raise Conflict(f"the uid is {found['metadata']['uid']}, not {uid}", status=409, reason="Conflict")
        grace = options.get("gracePeriodSeconds", found.get("spec", {}).get("terminationGracePeriodSeconds", 30))
        if found.get("kind") != "Pod" or grace == 0:
            self.remove(asked.path)
            return found
        earlier = found["metadata"].get("deletionGracePeriodSeconds")
        if earlier is None or grace < earlier:
            found["metadata"].update(deletionTimestamp=self._now(grace), deletionGracePeriodSeconds=grace)
            return self._keep("MODIFIED", asked.path, found)
        return found

    # Bookkeeping

    def _find(self, asked: Request) -> Object:
        if found := self.objects.get(asked.path):
            return deepcopy(found)
        raise NotFound(f"{asked.path} not found", status=404, reason="NotFound")

    def _keep(self, event: str, path: str, obj: Object) -> Object:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self.objects[path] = obj
        self._history.append((self._version, event, path, deepcopy(obj)))
        self._news.set()
        return deepcopy(obj)

    def _fault(self, asked: Request) -> Fault | None:
        for fault in self._faults:
            if fault.times and fault.where in str(asked):
                fault.times -= 1
                return fault
        return None

    @staticmethod
    def _selector(params: Mapping[str, str]) -> Callable[[Object], bool]:
        wanted = dict(_pairs(params.get("labelSelector", "")))
        return lambda obj: wanted.items() <= obj["metadata"].get("labels", {}).items()

    def _uid(self) -> str:
        self._uids += 1
        return f"00000000-0000-4000-8000-{self._uids:012}"

    def _now(self, later: float = 0.0) -> str:
        return datetime.fromtimestamp(self._clock() + later, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _pairs(selector: str) -> Iterator[tuple[str, str]]:
    for term in filter(None, selector.split(",")):
        key, _, value = term.partition("=")
        yield key, value
