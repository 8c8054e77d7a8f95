"""An HTTP port that asks for tokens: a pretended API server answers the reviews, and three namespaces have a run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import ClientSession

from muster.api.errors import ApiError
from muster.daemon.web import reviews
from muster.kube.transport import Answer
from muster.metrics.collector import Subject
from tests.builders import plan, record, view
from tests.daemon.web.subjects import Daemon


@dataclass
class Api:
    """A server that reviews tokens and accesses. ``rights`` holds (user, verb, namespace or path)."""

    users: dict[str, str] = field(default_factory=lambda: {"alice's": "alice", "bob's": "bob", "root's": "root"})
    rights: set[tuple[str, str, str]] = field(default_factory=set)
    problem: ApiError | None = None
    garbage: bytes = b""
    asked: list[dict[str, Any]] = field(default_factory=list)
    waiting: int = 0
    most: int = 0

    async def request(
        self, method: str, path: str, *, body: bytes | None = None, timeout: float | None = None, **options: Any
    ) -> Answer:
        assert (method, options.get("params")) == ("POST", None)
        assert timeout is not None
        assert body is not None
        spec = msgspec.json.decode(body)["spec"]
        self.asked.append(spec)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        if self.problem is not None:
            raise self.problem
        if self.garbage:
            return Answer(201, self.garbage)
        return Answer(201, msgspec.json.encode({"status": self._status(path, spec)}))

    def _status(self, path: str, spec: dict[str, Any]) -> dict[str, Any]:
        if path == reviews.TOKEN_REVIEWS:
            user = self.users.get(spec["token"])
            if user is None:
                return {"error": "invalid bearer token"}
            return {
                "authenticated": True,
                "user": {"username": user, "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}},
            }
        assert path == reviews.ACCESS_REVIEWS
        assert (spec["uid"], spec["groups"], spec["extra"]) == ("u", ["g"], {"k": ["v"]})
        if "nonResourceAttributes" in spec:
            asked = spec["nonResourceAttributes"]["verb"], spec["nonResourceAttributes"]["path"]
        else:
            what = spec["resourceAttributes"]
            assert (what["group"], what["resource"]) == ("muster.dev", "experiments")
            asked = what["verb"], what["namespace"]
        return {"allowed": (spec["user"], *asked) in self.rights}

    def lines(self, *_: Any, **__: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise AssertionError("a review is no watch")


def of_tenants() -> Daemon:
    """Return a daemon with experiments in three namespaces; a pod's node and message must not reach a stranger."""
    return Daemon(
        [
            Subject(plan(namespace=namespace, name="run"), record(message=f"secret of {namespace}"), view())
            for namespace in ("red", "green", "blue")
        ]
    )


@dataclass
class Ground:
    """A server that asks for tokens, and its world. ``now`` is the clock of its memory."""

    api: Api = field(default_factory=Api)
    now: float = 0.0
    session: ClientSession = field(init=False)

    async def get(self, path: str, token: str = "", **headers: str) -> tuple[int, str]:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        async with self.session.get(path, headers=headers) as response:
            return response.status, await response.text()
