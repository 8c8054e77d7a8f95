"""A Kubernetes API server in memory, with the interface of ``muster.kube.transport.Transport``.

It has what clients rely on: one growing resourceVersion, a uid per object, a generation per spec, 409 for an existing
name, preconditions, the status subresource, graceful deletion of pods, finalizers, label selectors, pages (all of one
list at the resourceVersion of the first), streamed lists, and watches from a resourceVersion. Faults are scripted: an
error before a request is carried out, or after it (a lost answer).
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from muster.api.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from muster.api.values.timestamps import whole_time
from muster.kube.transport import Answer
from tests.fakes.history import Change, History, Object, collections_of, encode
from tests.fakes.watching import KINDS, Courier, Prompt, Watches

ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it was received."""

    method: str
    path: str
    params: Mapping[str, str]
    body: Any

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(slots=True)
class Fault:
    """An error for the next ``times`` requests whose ``METHOD path`` contains ``where``."""

    where: str
    error: ApiError
    after: bool
    times: int


class FakeApi:
    """Objects by path. ``clock`` gives wall-clock seconds; ``requests`` holds all requests in order.

    With ``nodes``, pods without a running kubelet (not scheduled, or ended) are deleted at once, as by the real API
    server (kubernetes: pkg/registry/core/pod/strategy.go, CheckGracefulDelete).
    """

    def __init__(self, clock: Callable[[], float] = lambda: 0.0, *, nodes: bool = False) -> None:
        self.objects: dict[str, Object] = {}
        self.history = History()
        self.requests: list[Request] = []
        self.under_way = 0
        self.busiest = 0
        self.gate = asyncio.Event()
        """Requests wait until it is set."""
        self.gate.set()
        self.listeners: list[Callable[[Change], None]] = []
        """Called synchronously for every change."""
        self.unserved: set[str] = set()
        """Plurals of kinds whose custom resource definition is not installed."""
        self._arrival = asyncio.Event()
        self._clock = clock
        self._nodes = nodes
        self._uids = 0
        self._faults: list[Fault] = []
        self.watches = Watches(self.history, clock)

    # For tests

    def fail(self, where: str, error: ApiError, *, after: bool = False, times: int = 1) -> Fault:
        """Script a fault; ``after``: the request is carried out first, and only its answer is lost.

        Set ``times`` of what is returned to 0 to end it.
        """
        self._faults.append(Fault(where, error, after, times))
        return self._faults[-1]

    def put(self, path: str, obj: Object) -> Object:
        """Create or replace an object as another client would; returns the stored object.

        The object is stored, not copied: do not change it afterwards.
        """
        old = self.objects.get(path)
        metadata = dict(obj.get("metadata") or {})
        metadata["name"] = path.rsplit("/", 1)[1]
        metadata["uid"] = old["metadata"]["uid"] if old else metadata.get("uid") or self._uid()
        metadata.setdefault("creationTimestamp", self.now())
        if path.split("/")[-2] in ("experiments", "jobsets", "jaxjobs", "workloads"):
            before = old["metadata"].get("generation", 1) if old else 0
            metadata["generation"] = before + (old is None or old.get("spec") != obj.get("spec"))
        kept = self._keep("MODIFIED" if old else "ADDED", path, {**obj, "metadata": metadata})
        if old and old["metadata"].get("finalizers") and not metadata.get("finalizers") and _deleted(kept):
            self.remove(path)
        return kept

    def remove(self, path: str) -> None:
        """Remove an object, as when a kubelet reports the end of a pod. Finalizers keep it, marked as deleted."""
        found = self.objects[path]
        if not found["metadata"].get("finalizers"):
            self._keep("DELETED", path, found)
        elif not _deleted(found):
            leaving = {"deletionTimestamp": self.now(), "deletionGracePeriodSeconds": 0}
            self._keep("MODIFIED", path, {**found, "metadata": {**found["metadata"], **leaving}})

    def delete(self, path: str, grace: int | None = None) -> Object:
        """Carry out a DELETE: a scheduled, running pod gets its grace period, everything else is removed at once."""
        found = self.objects[path]
        if grace is None:
            grace = found.get("spec", {}).get("terminationGracePeriodSeconds", 30)
        if found.get("kind") != "Pod" or grace == 0 or (self._nodes and _unattended(found)):
            self.remove(path)
            return self.objects.get(path, found)
        earlier = found["metadata"].get("deletionGracePeriodSeconds")
        if earlier is None or grace < earlier:
            leaving = {"deletionTimestamp": self.now(grace), "deletionGracePeriodSeconds": grace}
            return self._keep("MODIFIED", path, {**found, "metadata": {**found["metadata"], **leaving}})
        return found

    def restore(self, version: int, bump: int = 0) -> None:
        """Put back the etcd of an earlier resourceVersion, and start again: all watches end."""
        self.history.restore(version, bump)
        self.objects = self.history.state(version)
        self.watches.cut()

    def named(self, kind: str) -> list[str]:
        """The sorted names of the objects of a plural kind."""
        return sorted(obj["metadata"]["name"] for path, obj in self.objects.items() if path.split("/")[-2] == kind)

    def asked(self, where: str) -> list[Request]:
        """The requests whose ``METHOD path`` contains ``where``."""
        return [request for request in self.requests if where in str(request)]

    async def crowd(self, number: int) -> None:
        """Wait until that many requests are in flight."""
        while self.under_way < number:
            self._arrival.clear()
            await self._arrival.wait()

    def now(self, later: float = 0.0) -> str:
        """A timestamp as the API server writes it."""
        return whole_time(self._clock() + later)

    # Transport

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
        asked = Request(method, path, dict(params or {}), msgspec.json.decode(body) if body else None)
        self.requests.append(asked)
        self.under_way += 1
        self._arrival.set()
        self.busiest = max(self.busiest, self.under_way)
        try:
            await asyncio.sleep(0)
            await self.gate.wait()
            self._served(path)
            fault = self._fault(asked)
            if fault:
                fault.error.request = str(asked)
            if fault and not fault.after:
                raise fault.error
            answer = {
                "GET": self._get,
                "POST": self._post,
                "PUT": self._replace,
                "PATCH": self._merge,
                "DELETE": self._delete,
            }[method](asked)
            if fault:
                raise fault.error
            return Answer(201 if method == "POST" else 200, self._body(answer))
        finally:
            self.under_way -= 1

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float, courier: Courier | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """A watch; ``courier`` decides when each change is delivered."""
        self._served(path)
        stream = self.watches.stream(path, params, silence, _selector(params), courier or Prompt())
        async with aclosing(stream) as lines:  # type: ignore[type-var]
            yield lines

    def page(self, path: str, params: Mapping[str, str], version: int | None = None) -> Object:
        """One page of a list, at the current or an earlier resourceVersion."""
        begun, _, start = params.get("continue", "").partition("@")
        if begun:
            version = int(begun)
        objects = self.objects if version is None else self.history.state(version)
        chosen = _selector(params)
        paths = [p for p in sorted(objects) if path in collections_of(p) and p > start and chosen(objects[p])]
        page = paths[: int(params.get("limit") or len(paths))]
        metadata = {"resourceVersion": str(self.history.version if version is None else version)}
        if len(page) < len(paths):
            metadata["continue"] = f"{metadata['resourceVersion']}@{page[-1]}"
        return {"kind": "List", "metadata": metadata, "items": [objects[p] for p in page]}

    # Verbs

    def _get(self, asked: Request) -> Object:
        if asked.path in self.objects or asked.path.rsplit("/", 1)[1] not in KINDS:
            return self._find(asked.path)
        return self.page(asked.path, asked.params)

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
        old = self._find(path)
        _check(asked.body["metadata"], old["metadata"])
        if asked.path != path:
            return self.put(path, {**old, "status": asked.body["status"]})
        return self.put(path, {**asked.body, "status": old.get("status")})

    def _merge(self, asked: Request) -> Object:
        """A merge patch (RFC 7386). That of a status changes nothing else, and the other way round."""
        path = asked.path.removesuffix("/status")
        old = self._find(path)
        _check(asked.body.get("metadata", {}), old["metadata"])
        patch = {name: value for name, value in asked.body.items() if (name == "status") == (asked.path != path)}
        merged = merge_patch(old, patch)
        return old if merged == old else self.put(path, merged)

    def _delete(self, asked: Request) -> Object:
        found, options = self._find(asked.path), asked.body or {}
        _check(options.get("preconditions", {}), found["metadata"])
        return self.delete(asked.path, options.get("gracePeriodSeconds"))

    # Storage

    def _find(self, path: str) -> Object:
        if found := self.objects.get(path):
            return found
        raise NotFound(f"{path} not found", status=404, reason="NotFound")

    def _keep(self, event: str, path: str, obj: Object) -> Object:
        version = self.history.version + 1
        kept = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
        change = Change(version, event, path, self.objects.get(path), kept, self._clock())
        if event == "DELETED":
            del self.objects[path]
        else:
            self.objects[path] = kept
        self.history.add(change)
        for listener in self.listeners:
            listener(change)
        self.watches.wake(change)
        return kept

    def _body(self, answer: Object) -> bytes:
        """The encoded object. One that was just changed is encoded once, for its answer and for all watches."""
        last = self.history.changes[-1] if self.history.changes else None
        return last.body if last is not None and last.after is answer else encode(answer)

    def _fault(self, asked: Request) -> Fault | None:
        for fault in self._faults:
            if fault.times and fault.where in str(asked):
                fault.times -= 1
                return fault
        return None

    def _served(self, path: str) -> None:
        if self.unserved and self.unserved & set(path.split("/")):
            raise NotFound("the server could not find the requested resource", status=404, reason="NotFound")

    def _uid(self) -> str:
        self._uids += 1
        return f"00000000-0000-4000-8000-{self._uids:012}"


def merge_patch(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merge_patch(new.get(key), value)
    return new


def _unattended(pod: Object) -> bool:
    return not pod.get("spec", {}).get("nodeName") or pod.get("status", {}).get("phase") in ENDED


def _deleted(obj: Object) -> bool:
    """The object is marked as deleted, and only finalizers keep it."""
    metadata = obj["metadata"]
    return "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds")


def _check(said: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
    for field in ("uid", "resourceVersion"):
        if said.get(field) and said[field] != kept[field]:
            raise Conflict(f"{field} is {kept[field]}, not {said[field]}", status=409, reason="Conflict")


_TERM = re.compile(r"([^,() =]+)(?: in \(([^)]*)\)|=([^,]*))?")
"""A term of a selector: ``app``, ``app=a`` or ``app in (a,b)``."""


def _selector(params: Mapping[str, str]) -> Callable[[Object], bool]:
    found = _TERM.finditer(params.get("labelSelector", ""))
    terms = [(each[1], each[2].split(",") if each[2] else each[3] and [each[3]]) for each in found]

    def chosen(obj: Object) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(key in labels and (not values or labels[key] in values) for key, values in terms)

    return chosen
