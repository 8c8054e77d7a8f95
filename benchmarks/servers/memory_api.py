"""An API server in memory, cheap enough to measure a daemon beside it.

It does what the daemon relies on: growing resourceVersions, uids, unique names, status writes under a resourceVersion,
graceful deletion, and watches that begin with a streamed list. No request fails in it; faults are the simulation's.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from muster.api.errors import AlreadyExists, Conflict, NotFound
from muster.api.names import LABEL_UID, PLURAL
from muster.kube.transport import Answer

Object = dict[str, Any]
COLLECTIONS = ("pods", "services", "events", PLURAL)
CREATED = "2027-01-15T08:00:00Z"


class MemoryApi:
    """A ``Transport``. ``asked(method, resource, path)`` is called as each request is issued.

    ``born(pod)`` and ``asked_to_end(pod)`` are for the kubelet: a pod was created, or was given a deletionTimestamp.
    """

    def __init__(
        self,
        *,
        asked: Callable[[str, str, str], None],
        born: Callable[[Object], None],
        asked_to_end: Callable[[Object], None],
    ) -> None:
        self.writes: Counter[tuple[str, str]] = Counter()
        """By method and resource; the status subresource counts as a resource."""
        self._asked = asked
        self._born = born
        self._asked_to_end = asked_to_end
        self._objects: dict[str, Object] = {}
        self._gangs: defaultdict[str, dict[str, Object]] = defaultdict(dict)
        self._watchers: defaultdict[str, list[asyncio.Queue[bytes]]] = defaultdict(list)
        self._version = 0

    def get(self, path: str) -> Object:
        """The object at ``path``. Raises ``NotFound``."""
        if path not in self._objects:
            raise NotFound("not found", status=404, request=path)
        return self._objects[path]

    def pods_of(self, uid: str) -> list[str]:
        """The paths of the pods with the label of that experiment."""
        return list(self._gangs[uid])

    def put(self, path: str, obj: Object) -> Object:
        """Create an object. Raises ``AlreadyExists``."""
        if path in self._objects:
            raise AlreadyExists("the name is taken", status=409, reason="AlreadyExists", request=path)
        metadata = obj["metadata"]
        metadata.setdefault("uid", f"{self._version:08x}-94a1-4f5e-8c2b-000000000000")
        *_, namespace, collection, _ = path.split("/")
        metadata |= {"namespace": namespace, "creationTimestamp": CREATED, "generation": 1}
        self._objects[path] = obj
        if collection == "pods":
            self._gangs[metadata["labels"][LABEL_UID]][path] = obj
        self.publish("ADDED", path)
        return obj

    def remove(self, path: str) -> None:
        """Remove an object."""
        obj = self.get(path)
        self.publish("DELETED", path)
        del self._objects[path]
        if path.split("/")[-2] == "pods":
            del self._gangs[obj["metadata"]["labels"][LABEL_UID]][path]

    def publish(self, event: str, path: str) -> None:
        """Give the object a new resourceVersion and send it to all watches."""
        obj = self._objects[path]
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        line = b'{"type":"%s","object":%s}' % (event.encode(), msgspec.json.encode(obj))
        for watcher in self._watchers[path.split("/")[-2]]:
            watcher.put_nowait(line)

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
        """See ``Transport``."""
        parts = path.split("/")
        resource = parts[-1] if parts[-1] in (*COLLECTIONS, "status") else parts[-2]
        self._asked(method, resource, path)
        if method != "GET":
            self.writes[method, resource] += 1
        await asyncio.sleep(0)
        asked = msgspec.json.decode(body) if body else {}
        match method, resource:
            case "GET", _ if path.endswith(resource):
                wanted = dict(pair.split("=") for pair in (params or {})["labelSelector"].split(","))
                items = list(self._gangs[wanted[LABEL_UID]].values())
                answer: Object = {"metadata": {"resourceVersion": str(self._version)}, "items": items}
            case "GET", _:
                answer = self.get(path)
            case "POST", _:
                answer = self.put(f"{path}/{asked['metadata']['name']}", asked)
                if resource == "pods":
                    self._born(answer)
            case "PUT", "status":
                answer = self._write_status(path.removesuffix("/status"), asked)
            case "PATCH", _:
                answer = self._stop(path)
            case _:
                answer = self._delete(path, asked)
        return Answer(200, msgspec.json.encode(answer))

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """See ``Transport``. Only streamed lists, which never end."""
        collection = path.rsplit("/", 1)[1]
        watcher: asyncio.Queue[bytes] = asyncio.Queue()
        for where, obj in self._objects.items():
            if where.split("/")[-2] == collection:
                watcher.put_nowait(b'{"type":"ADDED","object":%s}' % msgspec.json.encode(obj))
        end = {"resourceVersion": str(self._version), "annotations": {"k8s.io/initial-events-end": "true"}}
        watcher.put_nowait(b'{"type":"BOOKMARK","object":{"metadata":%s}}' % msgspec.json.encode(end))
        self._watchers[collection].append(watcher)

        async def events() -> AsyncIterator[bytes]:
            while True:
                yield await watcher.get()

        try:
            yield events()
        finally:
            self._watchers[collection].remove(watcher)

    def _write_status(self, path: str, asked: Object) -> Object:
        obj = self.get(path)
        if asked["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified", status=409, reason="Conflict", request=path)
        obj["status"] = asked["status"]
        self.publish("MODIFIED", path)
        return obj

    def _stop(self, path: str) -> Object:
        """A pod gets a deadline that is over; its object goes with its program, which is all that is measured here."""
        obj = self.get(path)
        obj["spec"]["activeDeadlineSeconds"] = 1
        self.publish("MODIFIED", path)
        self._asked_to_end(obj)
        return obj

    def _delete(self, path: str, asked: Object) -> Object:
        obj = self.get(path)
        if asked["preconditions"]["uid"] != obj["metadata"]["uid"]:
            raise Conflict("the object has another uid", status=409, reason="Conflict", request=path)
        obj["metadata"]["deletionTimestamp"] = CREATED
        self.publish("MODIFIED", path)
        self._asked_to_end(obj)
        return obj
