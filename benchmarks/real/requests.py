"""CPU of the API server for one request, with the CRD as it is, without its CEL rules, and without a schema.

The variants are CRDs of other groups that exist side by side, and take turns; the best of several rounds counts.
Nothing else runs against the API server meanwhile: musterd, controller manager and scheduler are down.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import msgspec

from benchmarks.harness.result import Result
from benchmarks.real.loops import each
from benchmarks.real.processes import API_SERVER
from benchmarks.real.starts import MERGE, Object, Site, experiment
from muster.api.errors import NotFound
from muster.api.manifest.experiment import parse_experiment
from muster.api.schema.crd import custom_resource_definition
from muster.kinds.experiments.planning import plan_of
from muster.kube.paths import core
from muster.reconcilers.render.pod import PodTemplate
from tests.real.namespace import eventually
from tests.real.stopping import held

ROUNDS, REQUESTS = 5, 200
AT_ONCE = 8
MEMBERS = 8
BUDGET = 3.0
"""Milliseconds for a status PUT with the CRD as it is."""
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OTHERS = ("musterd", "kube-controller-manager", "kube-scheduler")


def _without_rules(node: Any) -> Any:
    """The schema without its CEL rules."""
    if isinstance(node, dict):
        return {key: _without_rules(child) for key, child in node.items() if key != "x-kubernetes-validations"}
    return [_without_rules(child) for child in node] if isinstance(node, list) else node


VARIANTS: dict[str, Callable[[Object], Object]] = {
    "the CRD as it is": lambda schema: schema,
    "no CEL rules": _without_rules,
    "no schema": lambda _: {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


@dataclass(slots=True)
class Variant:
    """One CRD and what its requests cost, in milliseconds, by round."""

    name: str
    group: str
    path: str
    objects: dict[int, Object] = field(default_factory=dict)
    posts: list[float] = field(default_factory=list)
    puts: list[float] = field(default_factory=list)
    patches: list[float] = field(default_factory=list)


async def measure(here: Site) -> list[Result]:
    """Measure, and put the rows into the table's form."""
    model = await _running(here)
    async with AsyncExitStack() as down:
        for name in OTHERS:
            await down.enter_async_context(held(here.ground, name))
        variants = [await _installed(here, number, name) for number, name in enumerate(VARIANTS)]
        pods: list[float] = []
        maps: list[float] = []
        for turn in range(ROUNDS):
            for variant in variants:
                await _round(here, variant, model, turn)
            pods.append(await _pods(here, model, turn))
            maps.append(await _config_maps(here, turn))
        for variant in variants:
            await here.request("DELETE", f"{CRDS}/experiments.{variant.group}")
    return _rows(variants, pods, maps)


async def _running(here: Site) -> Object:
    """An Experiment of 8 members as it is when it runs: its spec and status are those that are written."""
    await here.request("POST", here.experiments, experiment("model", here.namespace, MEMBERS))

    async def runs() -> Object | None:
        found = await here.request("GET", f"{here.experiments}/model")
        return found if found.get("status", {}).get("phase") == "Running" else None

    found: Object = await eventually(runs, 120)
    return found


async def _installed(here: Site, number: int, name: str) -> Variant:
    definition = custom_resource_definition()
    group = f"v{number}.muster.test"
    definition["metadata"]["name"] = f"experiments.{group}"
    definition["spec"]["group"] = group
    for key in ("shortNames", "categories"):
        del definition["spec"]["names"][key]
    (version,) = definition["spec"]["versions"]
    version["schema"]["openAPIV3Schema"] = VARIANTS[name](version["schema"]["openAPIV3Schema"])
    await here.request("POST", CRDS, definition)
    path = f"/apis/{group}/{version['name']}/namespaces/{here.namespace}/experiments"

    async def served() -> bool:
        try:
            await here.request("GET", path)
        except NotFound:
            return False
        return True

    await eventually(served, 60)
    return Variant(name, f"{group}", path)


async def _round(here: Site, variant: Variant, model: Object, turn: int) -> None:
    """Create, replace the status twice, patch it: REQUESTS of each."""
    api_version = f"{variant.group}/{model['apiVersion'].partition('/')[2]}"

    async def post(number: int) -> None:
        metadata = {"name": f"e-{turn}-{number}"}
        body = {"apiVersion": api_version, "kind": model["kind"], "metadata": metadata, "spec": model["spec"]}
        variant.objects[number] = await here.request("POST", variant.path, body)

    def status(number: int, attempt: int) -> Object:
        return {**model["status"], "restarts": turn * 100 + attempt, "disruptions": number}

    async def put(number: int, attempt: int) -> None:
        found = variant.objects[number]
        kept = {key: found["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
        body = {"apiVersion": api_version, "kind": model["kind"], "metadata": kept, "status": status(number, attempt)}
        variant.objects[number] = await here.request("PUT", f"{variant.path}/{kept['name']}/status", body)

    async def patch(number: int) -> None:
        name = variant.objects[number]["metadata"]["name"]
        await here.request("PATCH", f"{variant.path}/{name}/status", {"status": status(number, 3)}, MERGE)

    variant.posts.append(await _milliseconds(here, post))
    await _milliseconds(here, lambda number: put(number, 1))  # the first write of a status is another's: not counted
    variant.puts.append(await _milliseconds(here, lambda number: put(number, 2)))
    variant.patches.append(await _milliseconds(here, patch))


async def _pods(here: Site, model: Object, turn: int) -> float:
    plan = plan_of(parse_experiment(model))
    body = msgspec.json.decode(PodTemplate(plan, plan.groups[0], 0).render(next(iter(plan.members()))))
    path = core(here.namespace, "pods")

    async def post(number: int) -> None:
        metadata = {**body["metadata"], "name": f"pod-{turn}-{number}"}
        await here.request("POST", path, {**body, "metadata": metadata})

    return await _milliseconds(here, post)


async def _config_maps(here: Site, turn: int) -> float:
    path = core(here.namespace, "configmaps")

    async def post(number: int) -> None:
        await here.request("POST", path, {"metadata": {"name": f"map-{turn}-{number}"}, "data": {"a": "b"}})

    return await _milliseconds(here, post)


async def _milliseconds(here: Site, do: Callable[[int], Awaitable[object]]) -> float:
    before = here.processes.cpu(API_SERVER)
    await each(range(REQUESTS), do, AT_ONCE)
    return (here.processes.cpu(API_SERVER) - before) / REQUESTS * 1e3


def _rows(variants: list[Variant], pods: list[float], maps: list[float]) -> list[Result]:
    what = "CPU of the API server"
    config_map = min(maps)
    rows = []
    for variant in variants:
        rows += [
            Result.of(
                f"{what}, status PUT, {variant.name}",
                min(variant.puts),
                "ms",
                BUDGET if variant is variants[0] else None,
                "POST of a ConfigMap",
                config_map,
            ),
            Result.of(f"{what}, status PATCH (merge), {variant.name}", min(variant.patches), "ms"),
            Result.of(f"{what}, POST of an Experiment, {variant.name}", min(variant.posts), "ms"),
        ]
    return [*rows, Result.of(f"{what}, POST of a pod", min(pods), "ms", None, "POST of a ConfigMap", config_map)]
