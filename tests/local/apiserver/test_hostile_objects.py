"""Objects with random parts replaced by nonsense: whatever is sent, the answer is the client's fault or a success."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import (
    APPLY,
    CONFIGS,
    CRDS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    WIDGET_SCHEMA,
    WIDGETS,
    Api,
    config,
    definition,
    pod,
    widget,
)

NONSENSE: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    [],
    {},
    [1],
    [None],
    {"a": None},
    [{}],
    2**70,
    "\x00",
    [[]],
    {"": ""},
]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
STATUS = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [{"name": "main", "ready": True, "restartCount": 2, "state": {"terminated": {"exitCode": 1}}}],
}
SERVICE = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80, "name": "a"}], "selector": {"a": "b"}}}
COLUMNS = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
THINGS: list[tuple[str, dict[str, Any]]] = [
    (
        PODS,
        {
            **pod("p", tolerations=[{"key": "a"}], schedulingGates=[{"name": "a/b"}], activeDeadlineSeconds=5),
            "status": STATUS,
        },
    ),
    ("/api/v1/namespaces/default/services", SERVICE),
    (CONFIGS, config("c", a="b")),
    (CRDS, definition(WIDGET_SCHEMA, additionalPrinterColumns=COLUMNS)),
    (WIDGETS, widget("w", amount="5%", free={"x": 1}, parts=[{"name": "a", "weight": 3}, {"name": "b"}])),
]


def paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield above
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*above, key))


def spoil(obj: Any, chance: random.Random) -> Any:
    """A copy with one or two places replaced or removed."""
    spoilt = copy.deepcopy(obj)
    for _ in range(chance.choice([1, 1, 2])):
        path = chance.choice(list(paths(spoilt)))
        if path:
            inner = spoilt
            for key in path[:-1]:
                inner = inner[key]
            if chance.random() < 0.8:
                inner[path[-1]] = copy.deepcopy(chance.choice(NONSENSE))
            else:
                del inner[path[-1]]
    return spoilt


def pointer(obj: Any, chance: random.Random) -> str:
    return "".join(f"/{part}" for part in chance.choice(list(paths(obj))))


@pytest.mark.parametrize("seed", range(3))
async def test_random_values_in_objects_never_cause_a_server_error(server: ApiServer, api: Api, seed: int) -> None:
    chance = random.Random(seed)
    for path, obj in THINGS:
        await api.create(path, copy.deepcopy(obj))
    for _ in range(120):
        path, obj = chance.choice(THINGS)
        one = f"{path}/{obj['metadata']['name']}"
        part = chance.choice(["", "/status"]) if path in (PODS, WIDGETS) else ""
        kind = chance.choice(["POST", "PUT", MERGE, STRATEGIC, APPLY, JSON_PATCH])
        if kind == "POST":
            status, body = await api.call("POST", path, spoil(obj, chance))
        elif kind == "PUT":
            status, body = await api.call("PUT", one + part, spoil((await api.call("GET", one))[1], chance))
        elif kind == JSON_PATCH:
            verbs = ["add", "remove", "replace", "copy", "move", "test"]
            step = {"op": chance.choice(verbs), "path": pointer(obj, chance), "from": pointer(obj, chance)}
            status, body = await api.call("PATCH", one, [{**step, "value": chance.choice(NONSENSE)}], kind=kind)
        else:
            query = "?fieldManager=m&force=true" if kind == APPLY else ""
            status, body = await api.call("PATCH", one + part + query, spoil(obj, chance), kind=kind)
        assert status < 500, (kind, one, body)
        assert (await api.call("GET", path, Accept=TABLE))[0] in (200, 404)
    assert server.collector is not None
    assert not server.collector.done()
