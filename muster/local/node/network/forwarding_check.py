"""Check that pods on the bridge can reach one another, where a firewall may drop their packets.

With br_netfilter loaded, bridged packets pass the host's FORWARD chain, and a machine with Docker drops them there.
Pods would start and never connect, so the agent tries it with two sandboxes before it runs the first pod.
"""

import asyncio
import os
import sys
from pathlib import Path

from muster.local.node.isolation.launcher_client import Launcher
from muster.local.node.isolation.sandbox import ProcessSpec, Sandbox
from muster.local.node.network.pod_network import PodNetwork

FILTER = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
ANSWER_SECONDS = 10.0
_LISTEN = "import socket; socket.create_server(('', 1)).accept()"
_CONNECT = """
import socket, sys, time
for _ in range(100):
    try:
        socket.create_connection((sys.argv[1], 1), 2)
        sys.exit(0)
    except ConnectionRefusedError:
        time.sleep(0.02)
    except OSError:
        break
sys.exit(1)
"""


async def forwarding_refusal(launcher: Launcher, network: PodNetwork) -> str | None:
    """Why pods in network namespaces cannot connect to each other; None if they can. Raises SandboxError."""
    if not _filtered():
        return None
    sandboxes: list[Sandbox] = []
    addresses = [network.addresses.take() for _ in range(2)]
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        for address in addresses:
            sandboxes.append(sandbox := await launcher.pod(host_network=False))
            await network.connect(await sandbox.created(), address)
            await sandbox.set_up(
                hostname="probe", binds=[], address=address, prefix=network.prefix, gateway=network.host_address
            )
        await sandboxes[0].start(_python(_LISTEN), null)
        asking = await sandboxes[1].start(_python(_CONNECT, addresses[0]), null)
        async with asyncio.timeout(ANSWER_SECONDS):
            met = await asyncio.shield(asking.status) == 0
    except TimeoutError:
        met = False
    finally:
        os.close(null)
        await asyncio.gather(*(sandbox.destroy() for sandbox in sandboxes))
        for address in addresses:
            network.addresses.free(address)
    return None if met else "the host's firewall drops packets between pods on a bridge (iptables FORWARD)"


def _filtered() -> bool:
    try:
        return FILTER.read_text(encoding="ascii").strip() == "1"
    except OSError:
        return False


def _python(script: str, *arguments: str) -> ProcessSpec:
    argv = [sys.executable, "-I", "-S", "-c", script, *arguments]
    return ProcessSpec(argv, {}, cwd="/", pod_directory="/", graft_directory="/")
