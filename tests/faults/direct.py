"""A client that bypasses the proxy: the kubelet, the recorder and the user see the true state."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from muster.api.names import GROUP, VERSION

Object = dict[str, Any]

EXPERIMENTS = f"/apis/{GROUP}/{VERSION}/experiments"
MERGE = "application/merge-patch+json"


class Direct:
    """An async context manager. Answers of any status are returned and never raised."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.token = token
        self._headers = {"Authorization": f"Bearer {token}"}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "Direct":
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=60),
            trust_env=False,
            read_bufsize=2**22,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The session, while the context is entered."""
        assert self._session is not None, "not entered"
        return self._session

    async def call(
        self, method: str, path: str, body: Object | None = None, *, content_type: str = "application/json"
    ) -> tuple[int, Object]:
        """Send one request; returns status and decoded body."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": content_type}
        async with self.session.request(method, self.url + path, data=data, headers=headers) as answer:
            return answer.status, json.loads(await answer.read() or b"{}")

    async def expect_ok(self, method: str, path: str, body: Object | None = None) -> Object:
        """Send one request that must succeed."""
        status, document = await self.call(method, path, body)
        if status >= 300:
            raise AssertionError(f"{method} {path}: {status} {document.get('message')}")
        return document

    async def watch(self, path: str, version: str) -> AsyncIterator[tuple[str, Object]]:
        """Yield all events at ``path`` after ``version``. A gap is an error: the recorder must see everything."""
        params: Mapping[str, str] = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "86400"}
        limit = aiohttp.ClientTimeout(total=None)
        async with self.session.get(self.url + path, params=params, headers=self._headers, timeout=limit) as answer:
            while line := await answer.content.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise AssertionError(f"the watch of {path}: {event['object']}")
                yield event["type"], event["object"]
        raise AssertionError(f"the watch of {path} has ended")


def pod_path(pod: Object) -> str:
    """The path of a pod."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
