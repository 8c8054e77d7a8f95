"""A clock, a plain HTTP client, and small objects for the tests of the API server."""

import asyncio
import io
import json
from typing import Any, cast

import aiohttp

Json = dict[str, Any]
MERGE = "application/merge-patch+json"


class Clock:
    """A wall clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


class Stream:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self, seconds: float = 5.0) -> tuple[str, Json]:
        async with asyncio.timeout(seconds):
            line = await self.response.content.readline()
        assert line, "the watch has ended"
        event = json.loads(line)
        return event["type"], event["object"]

    async def rest(self, seconds: float = 5.0) -> list[tuple[str, Json]]:
        """All events until the server ends the stream."""
        async with asyncio.timeout(seconds):
            return [(e["type"], e["object"]) for e in map(json.loads, (await self.response.read()).splitlines())]

    def close(self) -> None:
        self.response.close()


class Api:
    """Requests to one server; every response is (status, body)."""

    def __init__(self, base: str, session: aiohttp.ClientSession) -> None:
        self.base = base
        self.session = session

    async def call(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json", **headers: str
    ) -> tuple[int, Any]:
        data: Any = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        data = io.BytesIO(data) if data is not None and len(data) > 1 << 20 else data
        sent = {"Content-Type": kind, **{k.replace("_", "-"): v for k, v in headers.items()}}
        async with self.session.request(method, self.base + path, data=data, headers=sent) as response:
            raw = await response.read()
            return response.status, json.loads(raw) if raw[:1] in (b"{", b"[") else raw

    async def get(self, path: str, **headers: str) -> Json:
        status, body = await self.call("GET", path, **headers)
        assert status == 200, body
        return cast("Json", body)

    async def create(self, path: str, body: Any) -> Json:
        status, made = await self.call("POST", path, body)
        assert status == 201, made
        return cast("Json", made)

    async def patch(self, path: str, body: Any, kind: str = MERGE) -> Json:
        status, made = await self.call("PATCH", path, body, kind=kind)
        assert status in (200, 201), made
        return cast("Json", made)

    async def watch(self, path: str, **headers: str) -> Stream:
        separator = "&" if "?" in path else "?"
        response = await self.session.get(f"{self.base}{path}{separator}watch=true", headers=headers)
        return Stream(response)

    async def gone(self, path: str) -> None:
        """Wait, with a watch, until an object does not exist."""
        collection, _, name = path.rpartition("/")
        stream = await self.watch(f"{collection}?fieldSelector=metadata.name={name}")
        try:
            while (await self.call("GET", path))[0] == 200:
                await stream.next()
        finally:
            stream.close()


def pod(name: str, **spec: Any) -> Json:
    container = {"name": "main", "image": "busybox:1", "command": ["true"]}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def config(name: str, **data: str) -> Json:
    return {"metadata": {"name": name}, "data": data}


def definition(schema: Json, **version: Any) -> Json:
    """A CRD for Widgets of example.com/v1."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all", "toys"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    **version,
                }
            ],
        },
    }


WIDGET_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How big the widget is."},
                "colour": {"type": "string", "default": "red", "enum": ["red", "green"]},
                "owner": {"type": "string"},
                "amount": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "default": 1}},
                    },
                },
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}, "count": {"type": "integer"}}},
    },
}
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "/api/v1/namespaces/default/pods"
CONFIGS = "/api/v1/namespaces/default/configmaps"


def widget(name: str, **spec: Any) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1, **spec}}
