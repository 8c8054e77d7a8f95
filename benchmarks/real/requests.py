"""CPU of the API server for one request. The best of several rounds counts.

Nothing else runs against the API server meanwhile: musterd, controller manager and scheduler are down. The CRD is a
copy in another group, so that no object is one of musterd's.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import msgspec

from benchmarks.harness.report import Result
from benchmarks.real.processes import API_SERVER
from benchmarks.real.starts import Object, Site, each, experiment
from muster.api.manifest.experiment import parse_experiment
from muster.api.schema.crd import custom_resource_definition
from muster.kinds.experiments import plan_of
from muster.kube.resources import core
from muster.reconcilers.render.pod import PodTemplate
from tests.real.namespace import eventually
from tests.real.stopping import held

ROUNDS, REQUESTS = 5, 200
AT_ONCE = 8
MEMBERS = 8
BUDGET = 3.0
"""Milliseconds for a status PUT."""
GROUP = "copy.muster.test"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OTHERS = ("musterd", "kube-controller-manager", "kube-scheduler")


@dataclass(slots=True)
class Copy:
    """The CRD under another group, and what its requests cost, in milliseconds, by round."""

    path: str
    objects: dict[int, Object] = field(default_factory=dict)
    posts: list[float] = field(default_factory=list)
    puts: list[float] = field(default_factory=list)


async def measure(here: Site) -> list[Result]:
    """Measure, and put the rows into the table's form."""
    model = await _running(here)
    plan = plan_of(parse_experiment(model))
    member = msgspec.json.decode(PodTemplate(plan, plan.groups[0], 0).render(next(iter(plan.members()))))
    async with AsyncExitStack() as down:
        for name in OTHERS:
            await down.enter_async_context(held(here.ground, name))
        copy = await _installed(here)
        pods: list[float] = []
        maps: list[float] = []
        for turn in range(ROUNDS):
            await _round(here, copy, model, turn)
            pods.append(await _posts(here, "pods", turn, member))
            maps.append(await _posts(here, "configmaps", turn, {"data": {"a": "b"}}))
        await here.request("DELETE", f"{CRDS}/experiments.{GROUP}")
    what, peer = "CPU of the API server", ("POST of a ConfigMap", min(maps))
    return [
        Result(f"{what}, status PUT", min(copy.puts), "ms", BUDGET, *peer),
        Result(f"{what}, POST of an Experiment", min(copy.posts), "ms", None, *peer),
        Result(f"{what}, POST of a pod", min(pods), "ms", None, *peer),
    ]


async def _running(here: Site) -> Object:
    """Return an Experiment of 8 members as it is when it runs: its spec and status are those that are written."""
    await here.request("POST", here.experiments, experiment("model", here.namespace, MEMBERS))

    async def runs() -> Object | None:
        found = await here.request("GET", f"{here.experiments}/model")
        return found if found.get("status", {}).get("phase") == "Running" else None

    found: Object = await eventually(runs, 120)
    return found


async def _installed(here: Site) -> Copy:
    definition = custom_resource_definition()
    definition["metadata"]["name"] = f"experiments.{GROUP}"
    definition["spec"]["group"] = GROUP
    for key in ("shortNames", "categories"):
        del definition["spec"]["names"][key]
    (version,) = definition["spec"]["versions"]
    await here.request("POST", CRDS, definition)
    path = f"/apis/{GROUP}/{version['name']}/namespaces/{here.namespace}/experiments"
    await eventually(lambda: here.answers(path), 60)
    return Copy(path)


async def _round(here: Site, copy: Copy, model: Object, turn: int) -> None:
    """Create, and replace the status twice: REQUESTS of each."""
    api_version = f"{GROUP}/{model['apiVersion'].partition('/')[2]}"

    async def post(number: int) -> None:
        metadata = {"name": f"e-{turn}-{number}"}
        body = {"apiVersion": api_version, "kind": model["kind"], "metadata": metadata, "spec": model["spec"]}
        copy.objects[number] = await here.request("POST", copy.path, body)

    async def put(number: int, attempt: int) -> None:
        found = copy.objects[number]
        kept = {key: found["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
        status = {**model["status"], "restarts": turn * 100 + attempt, "disruptions": number}
        body = {"apiVersion": api_version, "kind": model["kind"], "metadata": kept, "status": status}
        copy.objects[number] = await here.request("PUT", f"{copy.path}/{kept['name']}/status", body)

    copy.posts.append(await _milliseconds(here, post))
    await _milliseconds(here, lambda number: put(number, 1))  # the first write of a status is another's: not counted
    copy.puts.append(await _milliseconds(here, lambda number: put(number, 2)))


async def _posts(here: Site, plural: str, turn: int, body: Object) -> float:
    path = core(here.namespace, plural)

    async def post(number: int) -> None:
        metadata = {**body.get("metadata", {}), "name": f"{plural}-{turn}-{number}"}
        await here.request("POST", path, {**body, "metadata": metadata})

    return await _milliseconds(here, post)


async def _milliseconds(here: Site, do: Callable[[int], Awaitable[object]]) -> float:
    before = here.processes.cpu(API_SERVER)
    await each(range(REQUESTS), do, AT_ONCE)
    return (here.processes.cpu(API_SERVER) - before) / REQUESTS * 1e3
