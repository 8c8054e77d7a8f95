"""``python -m tests.real.nodes.agent --kubeconfig FILE --state DIR --workspace DIR``: a node of a real API server.

It is the agent of the local cluster, unchanged but for three things: the real scheduler binds its pods, so its own does
nothing; it renews its Lease more often, because the controller manager under test is impatient; and it runs members of
experiments and of watched runs, and pods of Muster, but no others: the DaemonSets of a cluster tolerate every node,
and a pod here is a process of this machine.

Its pods find the API server as in any cluster: a token of their service account in a projected volume, and an address
in their environment. The server listens on loopback, which a network namespace does not reach, so the address is that
of a relay. The image `musterd` has the entrypoint of the Dockerfile.

With certificates it takes commands for its pods from the API server, as a kubelet does (`nodes.kubelet`).
"""

import argparse
import asyncio
import json
import re
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from muster.api.names import LABEL_EXPERIMENT
from muster.cli.processes.stack import free_port
from muster.kinds.pods import OBSERVE
from muster.kube.authentication.kubeconfig import KubeConfig
from muster.kube.connection import Connection
from muster.kube.resources import ResourceClient
from muster.local.node import NodeAgent, agent, objects, registration
from muster.local.node.objects import Object
from muster.local.node.pods.assigned_pods import AssignedPods
from tests.real.nodes.kubelet import kubelet
from tests.real.nodes.relay import relay

ROOT = Path(__file__).parents[3]
NAME = "processes"
RENEW_SECONDS = 3.0
CAPACITY = {"cpu": "64", "memory": "256Gi", "pods": "250"}
"""More than the machine has: what does not fit is a situation of its own, on nodes made for it."""


class NoScheduler:
    """Takes the place of the agent's scheduler."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def wake(self) -> None:
        """The real scheduler watches for itself."""

    async def run(self) -> None:
        """Nothing, until cancelled."""
        await asyncio.Event().wait()


class OursOnly(AssignedPods):
    """Leaves every other pod alone."""

    def handle(self, pod: Object, deleted: bool) -> None:
        labels = objects.labels(pod)
        if {LABEL_EXPERIMENT, OBSERVE} & labels.keys() or labels.get("app.kubernetes.io/part-of") == "muster":
            super().handle(pod, deleted)


def entrypoint() -> list[str]:
    """What the image runs, and with the code of this checkout, as the image has its own."""
    (found,) = re.findall(r"^ENTRYPOINT (.+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    return ["env", f"PYTHONPATH={ROOT}", *json.loads(found)]


async def serve(kubeconfig: Path, state: Path, workspace: Path, certificates: list[Path]) -> None:
    """Run the node until SIGTERM; print one line when it is ready. ``certificates``: authority, certificate, key."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = urlsplit((await KubeConfig(str(kubeconfig)).read()).host)
    port = free_port()
    node = NodeAgent(
        KubeConfig(str(kubeconfig)),
        state_dir=state,
        name=NAME,
        capacity=CAPACITY,
        workspace=workspace,
        api_port=port,
        entrypoints={"musterd": entrypoint()},
    )
    try:
        await node.start()
        async with AsyncExitStack() as stack:
            if certificates:
                authority, certificate, key = certificates
                transport = await Connection.open(KubeConfig(str(kubeconfig)))
                stack.push_async_callback(transport.aclose)
                api = ResourceClient(transport)
                files = authority, certificate, key
                await stack.enter_async_context(kubelet(api, NAME, node.host_address, files, node))
            passing = await relay(node.host_address, port, str(server.hostname), server.port or 443)
            await stack.enter_async_context(passing)
            print(f"ready, isolation {node.choice}", flush=True)
            await stop.wait()
    finally:
        await node.stop(2.0)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("kubeconfig", "state", "workspace"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--certificates", type=Path, nargs=3, default=[], metavar=("AUTHORITY", "CERTIFICATE", "KEY"))
    chosen = parser.parse_args()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    for module, name, value in (
        (agent, "AssignedPods", OursOnly),
        (agent, "Scheduler", NoScheduler),
        (registration, "RENEW_SECONDS", RENEW_SECONDS),
    ):
        assert hasattr(module, name)
        setattr(module, name, value)
    chosen.state.mkdir(parents=True, exist_ok=True)
    asyncio.run(serve(chosen.kubeconfig, chosen.state, chosen.workspace, chosen.certificates))
    return 0


if __name__ == "__main__":
    sys.exit(main())
