"""Container spec to `ProcessSpec`: environment, arguments, mounts, memory limit, and names without namespaces.

Images are names only: nothing is pulled, and pods run with the host's files. Some names are treated as images that do
not exist, so that the failed states can be seen and tested: `missing/<anything>` and `<anything>/missing:<tag>`
alternate between ErrImagePull and ImagePullBackOff.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from muster.api.values.quantities import QuantityError, parse_quantity
from muster.local.home import read_caller
from muster.local.node import objects
from muster.local.node.context import PodContext
from muster.local.node.isolation.cgroups import Group
from muster.local.node.isolation.levels import Isolation
from muster.local.node.isolation.sandbox import ProcessSpec
from muster.local.node.network.hosts_files import DOMAIN
from muster.local.node.objects import Object
from muster.local.node.sources.environment import (
    arguments,
    base_environment,
    container_environment,
    service_variables,
)
from muster.local.node.sources.volumes import mounts_of, volume_variables

_MISSING = re.compile(r"(?:missing/.*|(?:.*/)?missing(?::.*)?)", re.DOTALL)
PULL_RETRY = 10.0
"""Seconds before the second attempt to pull; doubles, up to `states.LONGEST`."""


def image_missing(image: str) -> bool:
    """Return True if an image name is treated as one that does not exist."""
    return _MISSING.fullmatch(image) is not None


def repository(image: str) -> str:
    """Return the name of an image without its tag and digest."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def pull_error(image: str) -> tuple[str, str]:
    """Return reason and message of the waiting state after a failed pull."""
    return "ErrImagePull", f'failed to pull and unpack image "{image}": not found'


def pull_back_off(image: str) -> tuple[str, str]:
    """Return reason and message of the waiting state between attempts."""
    return "ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {pull_error(image)[1]}'


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"


def rewrite(text: str, namespace: str, subdomain: str, address_of: Callable[[str], str]) -> str:
    """Return `text` with every name of a pod replaced by `address_of("host.sub")`.

    A name is `<hostname>.<subdomain>[.<namespace>[.svc[.cluster.local]]]`.
    """
    suffix = rf"(?:\.{re.escape(namespace)}(?:\.svc(?:\.{re.escape(DOMAIN.removeprefix('svc.'))})?)?)?"
    pattern = rf"(?<![A-Za-z0-9.-])({_LABEL})\.{re.escape(subdomain)}{suffix}(?![A-Za-z0-9-]|\.[A-Za-z0-9])"
    return re.sub(pattern, lambda found: address_of(f"{found[1]}.{subdomain}"), text)


async def prepare(context: PodContext, container: Object) -> ProcessSpec:
    """Return the process of a container, without its limits. Raises ConfigError if a reference does not exist."""
    node = context.node
    caller = read_caller(node.callers, context.placement.pod)
    base = base_environment(str(context.home), node.python_directory)
    if caller is not None:
        base |= caller.environment
    base |= service_variables(node.network.host_address, node.api_port)
    if not node.isolation.namespaces:
        base |= volume_variables(context.volumes)
    environment = await container_environment(container, context.placement, node.sources, base)
    argv = arguments(container, environment, node.entrypoints.get(repository(str(container.get("image") or "")), ()))
    if node.isolation is Isolation.REWRITE:
        argv = [_rewritten(part, context) for part in argv]
        environment = {name: _rewritten(value, context) for name, value in environment.items()}
    name = str(container["name"])
    return ProcessSpec(
        argv=argv,
        env=environment,
        cwd=_directory(container, node.workspace if caller is None else caller.directory),
        pod_directory=str(context.home),
        graft_directory=str(context.folder / "grafts" / name),
        mounts=mounts_of(container, context.volumes),
    )


def _directory(container: Object, workspace: Path | None) -> str | None:
    """Return the working directory: the container's, else the workspace, which takes the place of the image's."""
    if container.get("workingDir"):
        return str(container["workingDir"])
    return str(workspace) if workspace is not None else None


def limit_memory(context: PodContext, container: Object, run: int) -> tuple[Group | None, Mapping[str, int]]:
    """Return a cgroup with the memory limit of the container, or a resource limit if none can be created."""
    limits: Object = (container.get("resources") or {}).get("limits") or {}
    try:
        memory = int(parse_quantity(str(limits["memory"]))) if "memory" in limits else 0
    except QuantityError:
        return None, {}
    if memory <= 0:
        return None, {}
    name = re.sub(r"[^A-Za-z0-9-]", "-", f"{objects.uid(context.placement.pod)}-{container['name']}-{run}")
    group = context.node.cgroups.make(name, memory)
    return (group, {}) if group is not None else (None, {"data": memory})


def _rewritten(text: str, context: PodContext) -> str:
    pod = context.placement.pod
    namespace = objects.namespace(pod)
    subdomain = str(objects.spec(pod).get("subdomain") or "")

    def address_of(short: str) -> str:
        known = context.node.hosts.address_of(namespace, short)
        return known or context.node.network.addresses.reserve(f"{namespace}/{short}")

    return rewrite(text, namespace, subdomain, address_of) if subdomain else text
