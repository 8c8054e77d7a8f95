"""What creating a pod costs the daemon: CPU of the client per create, including reading the answer, 32 in flight.

CPU time and not wall time, because in a real cluster the API server is slower than the client, and what matters is how
long the event loop is kept from its watches. The peer, in the same run and on the same server, is what most Python
controllers use: kubernetes_asyncio's typed models.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.harness.result import Result
from muster.kube.authentication.access import FixedAccess
from muster.kube.connection import Connection
from muster.kube.fair_share import ALONE, FairShare
from muster.reconcilers.native.engine import NativeEngine
from muster.reconcilers.render.pod import PodTemplate, render_pod
from muster.state.vocabulary.actions import CreatePods
from muster.state.vocabulary.coordinator import Coordinator, ProbeKind
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Env, PodSpec, Source, Volume
from muster.state.vocabulary.record import Phase, Record

PODS = 2000
ROUNDS = 3
IN_FLIGHT = 32
BUDGET = 400.0
"""Microseconds: a third of the typed client's cost, so that 1,000 creates keep the loop busy for 0.4 s in all."""
RENDER_BUDGET = 25.0
PEER = "kubernetes_asyncio create_namespaced_pod"


def plan() -> Plan:
    """A JAX experiment of 2,000 workers with the environment a real one has."""
    env = (
        Env("JAXOPERATOR_COORDINATOR_HOST", Source.COORDINATOR_HOST),
        Env("JAXOPERATOR_COORDINATOR_ADDRESS", Source.LITERAL, "$(JAXOPERATOR_COORDINATOR_HOST):1234"),
        Env("JAXOPERATOR_NUM_PROCESSES", Source.LITERAL, str(PODS)),
        Env("JAXOPERATOR_PROCESS_ID", Source.RANK),
        *(Env(f"AICHOR_VARIABLE_{number}", Source.LITERAL, "x" * 40) for number in range(20)),
    )
    limits = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"}
    pod = PodSpec(
        image="registry.example/train:1",
        command="python3 -u main.py --config large.yaml",
        requests=limits,
        limits=limits,
        shm_bytes=1 << 34,
        volumes=(Volume("data", "/data"),),
    )
    return Plan(
        uid="0f8fad5b-d9cb-469f-a165-70867728950e",
        namespace="lab",
        name="moe",
        generation=1,
        operator="jax",
        groups=(Group("worker", 1, PODS, pod, 0, env=env),),
        coordinator=Coordinator(0, 1234, ProbeKind.JAX),
    )


@contextmanager
def server() -> Iterator[str]:
    """The server in a process of its own; its URL."""
    program = [sys.executable, str(Path(__file__).parent / "servers" / "pod_server.py")]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


async def muster(host: str, wanted: Plan) -> float:
    """Microseconds of CPU per create through the engine and the real connection."""
    connection = await Connection.open(FixedAccess(host))
    share = FairShare(ALONE * IN_FLIGHT)
    engine = NativeEngine(connection, creates=share, others=share, clock=time.time)
    record = Record(generation=1, phase=Phase.PENDING, phase_at=0.0)
    action = CreatePods(0, tuple(wanted.members()))
    try:
        await engine.carry_out(CreatePods(0, action.members[:64]), wanted, record)
        began = time.process_time()
        outcome = await engine.carry_out(action, wanted, record)
        spent = time.process_time() - began
    finally:
        await connection.aclose()
    assert outcome.version == 123456789
    return spent / PODS * 1e6


async def typed(host: str, wanted: Plan) -> float:
    """The same with kubernetes_asyncio: models built, request, models parsed."""
    from kubernetes_asyncio import client

    queue = iter(wanted.members())
    async with client.ApiClient(client.Configuration(host=host)) as api:
        core = client.CoreV1Api(api)

        async def worker() -> None:
            for member in queue:
                body = model(client, render_pod(wanted, member, 0))
                await core.create_namespaced_pod("lab", body)

        began = time.process_time()
        async with asyncio.TaskGroup() as workers:
            for number in range(IN_FLIGHT):
                workers.create_task(worker(), name=f"typed create ({number})")
        return (time.process_time() - began) / PODS * 1e6


def model(client: Any, pod: dict[str, Any]) -> Any:
    """A V1Pod of the fields that matter, as a controller written against the models would build it."""
    metadata, spec = pod["metadata"], pod["spec"]
    (main,), (owner,) = spec["containers"], metadata["ownerReferences"]
    return client.V1Pod(
        api_version="v1",
        kind="Pod",
        metadata=client.V1ObjectMeta(
            name=metadata["name"],
            labels=metadata["labels"],
            owner_references=[
                client.V1OwnerReference(
                    api_version=owner["apiVersion"],
                    kind=owner["kind"],
                    name=owner["name"],
                    uid=owner["uid"],
                    controller=True,
                )
            ],
        ),
        spec=client.V1PodSpec(
            hostname=spec["hostname"],
            subdomain=spec["subdomain"],
            restart_policy="Never",
            containers=[
                client.V1Container(
                    name="main",
                    image=main["image"],
                    command=main["command"],
                    env=[client.V1EnvVar(name=env["name"], value=env["value"]) for env in main["env"]],
                    resources=client.V1ResourceRequirements(**main["resources"]),
                )
            ],
        ),
    )


def render(wanted: Plan) -> tuple[float, float]:
    """Microseconds of CPU to render one pod: from the template, and as a dict that is then encoded."""
    members = list(wanted.members())
    template = PodTemplate(wanted, wanted.groups[0], 0)
    began = time.process_time()
    for member in members:
        template.render(member)
    between = time.process_time()
    for member in members:
        msgspec.json.encode(render_pod(wanted, member, 0))
    return (between - began) / PODS * 1e6, (time.process_time() - between) / PODS * 1e6


def run() -> list[Result]:
    """Measure; the best of three rounds each. The two take turns, so that other processes slow both alike."""
    wanted = plan()
    rendered = [render(wanted) for _ in range(ROUNDS)]
    ours, theirs = [], []
    with server() as host:
        for _ in range(ROUNDS):
            theirs.append(asyncio.run(typed(host, wanted)))
            ours.append(asyncio.run(muster(host, wanted)))
    template, encoded = min(fast for fast, _ in rendered), min(slow for _, slow in rendered)
    create = min(ours)
    return [
        Result("pod create, client CPU", create, "us", BUDGET, create <= BUDGET, f"{PEER}, typed models", min(theirs)),
        Result(
            "pod render, template",
            template,
            "us",
            RENDER_BUDGET,
            template <= RENDER_BUDGET,
            "render_pod and msgspec.json.encode",
            encoded,
        ),
    ]


if __name__ == "__main__":
    for result in run():
        print(
            f"{result.name}: {result.value:.1f} {result.unit} "
            f"(budget {result.budget}, {'ok' if result.ok else 'OVER'}); "
            f"{result.peer}: {result.peer_value:.1f} {result.unit}"
        )
