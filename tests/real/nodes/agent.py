"""``python -m tests.real.nodes.agent --kubeconfig FILE --state DIR --workspace DIR``: the project's node agent, joined
to a real API server as a node.

It is the agent of the local cluster, unchanged but for three things: the real scheduler binds its pods, so its own does
nothing; it renews its Lease more often, because the controller manager under test is impatient; and it runs members of
experiments and of observed runs only, because a cluster's DaemonSets tolerate every node, and a pod here is a process
of this machine.
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

import structlog

from muster.api.names import LABEL_EXPERIMENT
from muster.kube.authentication.kubeconfig import KubeConfig
from muster.local.node import NodeAgent, agent, objects, registration
from muster.local.node.objects import Object
from muster.local.node.pods.assigned_pods import AssignedPods
from muster.state.operators.observed.pods import OBSERVE

NAME = "processes"
RENEW_SECONDS = 3.0
CAPACITY = {"cpu": "64", "memory": "256Gi", "pods": "250"}
"""More than the machine has: what does not fit is a situation of its own, on nodes made for it."""


class NoScheduler:
    """Stands where the agent has its scheduler."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def wake(self) -> None:
        """The real scheduler watches for itself."""

    async def run(self) -> None:
        """Nothing, until cancelled."""
        await asyncio.Event().wait()


class MembersOnly(AssignedPods):
    """Leaves every other pod alone."""

    def handle(self, pod: Object, deleted: bool) -> None:
        if {LABEL_EXPERIMENT, OBSERVE} & objects.labels(pod).keys():
            super().handle(pod, deleted)


async def serve(kubeconfig: Path, state: Path, workspace: Path) -> None:
    """Run the node until SIGTERM; print one line when it is ready."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    node = NodeAgent(KubeConfig(str(kubeconfig)), state_dir=state, name=NAME, capacity=CAPACITY, workspace=workspace)
    try:
        await node.start()
        print(f"ready, isolation {node.isolation}", flush=True)
        await stop.wait()
    finally:
        await node.stop(2.0)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("kubeconfig", "state", "workspace"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    chosen = parser.parse_args()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    for module, name, value in (
        (agent, "AssignedPods", MembersOnly),
        (agent, "Scheduler", NoScheduler),
        (registration, "RENEW_SECONDS", RENEW_SECONDS),
    ):
        assert hasattr(module, name)
        setattr(module, name, value)
    chosen.state.mkdir(parents=True, exist_ok=True)
    asyncio.run(serve(chosen.kubeconfig, chosen.state, chosen.workspace))
    return 0


if __name__ == "__main__":
    sys.exit(main())
