"""Requests with random values in random places of an object: none of them causes a server error."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import (
    CONFIGS,
    CRDS,
    MERGE,
    PODS,
    WIDGET_SCHEMA,
    WIDGETS,
    Api,
    config,
    definition,
    pod,
    widget,
)

PLAIN = (None, True, 0, -1, 1.5, 2**70, "", "x", "\x00")
VALUES: list[Any] = [*PLAIN, [], {}, [1], [None], {"a": None}, [{}], [[]], {"": ""}]
STATUS = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [{"name": "main", "ready": True, "restartCount": 2, "state": {"terminated": {"exitCode": 1}}}],
}
SERVICE = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80, "name": "a"}], "selector": {"a": "b"}}}
OBJECTS: list[tuple[str, dict[str, Any]]] = [
    (
        PODS,
        {
            **pod("p", tolerations=[{"key": "a"}], schedulingGates=[{"name": "a/b"}], activeDeadlineSeconds=5),
            "status": STATUS,
        },
    ),
    ("/api/v1/namespaces/default/services", SERVICE),
    (CONFIGS, config("c", a="b")),
    (CRDS, definition(WIDGET_SCHEMA)),
    (WIDGETS, widget("w", amount="5%", free={"x": 1}, parts=[{"name": "a", "weight": 3}, {"name": "b"}])),
]


def paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield above
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*above, key))


def corrupt(obj: Any, rng: random.Random) -> Any:
    """A copy with one or two places replaced or removed."""
    corrupted = copy.deepcopy(obj)
    for _ in range(rng.choice([1, 1, 2])):
        path = rng.choice(list(paths(corrupted)))
        if path:
            inner = corrupted
            for key in path[:-1]:
                inner = inner[key]
            if rng.random() < 0.8:
                inner[path[-1]] = copy.deepcopy(rng.choice(VALUES))
            else:
                del inner[path[-1]]
    return corrupted


@pytest.mark.parametrize("seed", range(3))
async def test_random_values_in_objects_never_cause_a_server_error(server: ApiServer, api: Api, seed: int) -> None:
    rng = random.Random(seed)
    for path, obj in OBJECTS:
        await api.create(path, copy.deepcopy(obj))
    for _ in range(120):
        path, obj = rng.choice(OBJECTS)
        one = f"{path}/{obj['metadata']['name']}"
        part = rng.choice(["", "/status"]) if path in (PODS, WIDGETS) else ""
        kind = rng.choice(["POST", "PUT", MERGE])
        if kind == "POST":
            status, body = await api.call("POST", path, corrupt(obj, rng))
        elif kind == "PUT":
            status, body = await api.call("PUT", one + part, corrupt((await api.call("GET", one))[1], rng))
        else:
            status, body = await api.call("PATCH", one + part, corrupt(obj, rng), kind=kind)
        assert status < 500, (kind, one, body)
        assert (await api.call("GET", path))[0] in (200, 404)
    assert server.collector is not None
    assert not server.collector.done()
