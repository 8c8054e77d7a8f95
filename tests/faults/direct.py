"""The harness's own way to the API server, past the proxy: what the kubelet, the witness and the user see is true."""

import json
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any

import aiohttp

from muster.api.names import GROUP, VERSION

Object = dict[str, Any]

EXPERIMENTS = f"/apis/{GROUP}/{VERSION}/experiments"
MERGE = "application/merge-patch+json"


class Direct:
    """An async context manager. Answers of any status are returned, not raised."""

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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """Open while this is entered."""
        assert self._session is not None, "not entered"
        return self._session

    async def call(
        self, method: str, path: str, body: Object | None = None, *, content_type: str = "application/json"
    ) -> tuple[int, Object]:
        """One request: status and decoded body."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": content_type}
        async with self.session.request(method, self.url + path, data=data, headers=headers) as answer:
            return answer.status, json.loads(await answer.read() or b"{}")

    async def want(self, method: str, path: str, body: Object | None = None) -> Object:
        """One request that must succeed."""
        status, document = await self.call(method, path, body)
        if status >= 300:
            raise AssertionError(f"{method} {path}: {status} {document.get('message')}")
        return document

    async def watch(self, path: str, version: str) -> AsyncIterator[tuple[str, Object]]:
        """Everything that happens at ``path`` after ``version``. A gap is an error: a witness must not miss a thing."""
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
    """Where that pod is."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
