"""Set-up of a pod's sandbox: namespaces, address, volumes, and its own files in /etc."""

from dataclasses import replace
from pathlib import Path

from muster.local.node import objects
from muster.local.node.context import PodContext
from muster.local.node.isolation.levels import Isolation
from muster.local.node.network.hosts_files import names_of
from muster.local.node.pods.pod_status import PodState
from muster.local.node.sources.volumes import make_volumes, memory_volumes

VOLUMES = "volumes"
"""The folder of a pod's volumes, in that of the pod."""
NO_NAMESERVER = (
    "# Names of pods are in /etc/hosts. This nameserver refuses at once, so that no resolver waits.\n"
    "nameserver 127.0.0.1\n"
)


async def set_up_pod(context: PodContext, state: PodState) -> None:
    """Set up the sandbox; what was created is in `context` and `state`.

    Raises SandboxError, ConfigError or AddressesExhaustedError.
    """
    node, pod = context.node, context.placement.pod
    on_host = bool(objects.spec(pod).get("hostNetwork"))
    context.sandbox = await node.launcher.pod(host_network=on_host)
    subdomain = str(objects.spec(pod).get("subdomain") or "")
    name = f"{objects.namespace(pod)}/{objects.hostname(pod)}.{subdomain}" if subdomain else ""
    address = node.network.host_address if on_host else node.network.addresses.take(name)
    state.address = address
    context.placement = replace(context.placement, address=address)
    context.home.mkdir(parents=True, exist_ok=True)
    context.hosts_file.parent.mkdir(parents=True, exist_ok=True)
    context.volumes = await make_volumes(context.folder / VOLUMES, context.placement, node.sources)
    node.hosts.add(names_of(pod, address), context.hosts_file, objects.spec(pod).get("hostAliases") or ())
    pid = await context.sandbox.created()
    if not on_host:
        await node.network.connect(pid, address)
    await context.sandbox.set_up(
        hostname=objects.hostname(pod),
        binds=_own_files(context, with_resolver=node.isolation is Isolation.NETNS and not on_host),
        address=address,
        prefix=node.network.prefix,
        gateway=node.network.host_address,
        tmpfs=memory_volumes(context.volumes),
    )


def _own_files(context: PodContext, *, with_resolver: bool) -> list[tuple[str, str]]:
    """The files of /etc that a pod has for itself: (its file, the path of the bind mount)."""
    etc = context.hosts_file.parent
    (etc / "hostname").write_text(f"{objects.hostname(context.placement.pod)}\n", encoding="utf-8")
    (etc / "resolv.conf").write_text(NO_NAMESERVER, encoding="utf-8")
    names = ["hosts", "hostname", *(["resolv.conf"] if with_resolver else [])]
    return [(str(etc / name), f"/etc/{name}") for name in names if Path("/etc", name).exists()]
