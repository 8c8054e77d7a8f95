"""A container's environment, command and args, by the rules of pkg/kubelet/kubelet_pods.go.

`envFrom` comes first, then `env` in order; a value can refer to the variables before it. Pods do not inherit the
agent's environment. They start with PATH (the directory of the agent's Python first, so that `python3` is that Python),
HOME and LANG; pods of `muster run` also with the environment of its caller (`muster.local.caller`).

Expansion of `$(VAR)` in env values, command and args.

By the rules of k8s.io/kubernetes/third_party/forked/golang/expansion: `$(NAME)` is replaced by the value of the
variable, and kept if there is no such variable. `$$` is one dollar, so `$$(NAME)` gives `$(NAME)`. An unclosed `$(` and
any other `$x` are kept. Values are not expanded again.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from muster.local.node import objects
from muster.local.node.objects import Object
from muster.local.node.sources.config_sources import (
    ConfigError,
    ConfigSources,
    PodPlacement,
    read_config_map,
    read_secret,
)

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
T = TypeVar("T")
_NAME = re.compile(r"[^=\x00]+")


def base_environment(home: str, python_directory: str) -> dict[str, str]:
    """Return the environment that every container starts with."""
    return {"PATH": f"{python_directory}:{SYSTEM_PATH}", "HOME": home, "LANG": "C.UTF-8"}


def service_variables(host: str, port: int | None) -> dict[str, str]:
    """Return the variables with the API server's address, as in every pod of a cluster; nothing without a port."""
    return {} if port is None else {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}


async def container_environment(
    container: Object, placement: PodPlacement, sources: ConfigSources, base: Mapping[str, str]
) -> dict[str, str]:
    """Return the complete environment. Raises ConfigError if a required reference does not exist."""
    found = dict(base) | {"HOSTNAME": objects.hostname(placement.pod)}
    declared: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        prefix = str(source.get("prefix") or "")
        data = await _bulk(source, objects.namespace(placement.pod), sources)
        declared |= {f"{prefix}{name}": value for name, value in data.items() if _NAME.fullmatch(f"{prefix}{name}")}
    for entry in container.get("env") or ():
        value = await _value(entry, placement, sources, declared)
        if value is not None:
            declared[str(entry["name"])] = value
    for name, value in declared.items():
        if "\x00" in value or not _NAME.fullmatch(name):
            raise ConfigError(f"environment variable {name!r} contains a NUL byte, or its name is not valid")
    return found | declared


def arguments(container: Object, environment: Mapping[str, str], entrypoint: Sequence[str] = ()) -> list[str]:
    """Return the command and args, expanded. Images are not pulled: without an `entrypoint` a command is required."""
    argv = [expand(str(part), environment) for part in container.get("command") or ()] or list(entrypoint)
    if not argv:
        raise ConfigError(
            f"container {container.get('name')!r} has no command, and the local node pulls no image whose entrypoint "
            f"it could run; set spec.containers[].command",
            "CreateContainerError",
        )
    argv += [expand(str(part), environment) for part in container.get("args") or ()]
    if any("\x00" in part for part in argv):
        raise ConfigError(f"container {container.get('name')!r} has a NUL byte in its command or args")
    return argv


async def _bulk(source: Object, namespace: str, sources: ConfigSources) -> Mapping[str, str]:
    if reference := source.get("configMapRef"):
        return await read_config_map(reference, namespace, sources)
    if reference := source.get("secretRef"):
        return {
            name: value.decode(errors="replace")
            for name, value in (await read_secret(reference, namespace, sources)).items()
        }
    return {}


async def _value(
    entry: Object, placement: PodPlacement, sources: ConfigSources, declared: Mapping[str, str]
) -> str | None:
    origin: Object | None = entry.get("valueFrom")
    if not origin:
        return expand(str(entry.get("value") or ""), declared)
    namespace = objects.namespace(placement.pod)
    if reference := origin.get("fieldRef"):
        return placement.field(str(reference.get("fieldPath")))
    if reference := origin.get("configMapKeyRef"):
        return _pick(await read_config_map(reference, namespace, sources), reference, "configmap")
    if reference := origin.get("secretKeyRef"):
        secret = _pick(await read_secret(reference, namespace, sources), reference, "secret")
        return None if secret is None else secret.decode(errors="replace")
    if reference := origin.get("resourceFieldRef"):
        return _resource_field(reference, placement)
    raise ConfigError(f"env {entry.get('name')!r}: valueFrom {', '.join(origin)} is not supported by the local node")


def _resource_field(reference: Object, placement: PodPlacement) -> str:
    kind, _, resource = str(reference.get("resource")).partition(".")
    wanted = reference.get("containerName")
    containers: Sequence[Object] = objects.spec(placement.pod).get("containers") or ()
    owner = next((each for each in containers if each.get("name") == wanted), containers[0])
    return str(((owner.get("resources") or {}).get(kind) or {}).get(resource, "0"))


def _pick(data: Mapping[str, T], reference: Object, kind: str) -> T | None:
    wanted = str(reference.get("key"))
    if wanted in data:
        return data[wanted]
    if reference.get("optional"):
        return None
    raise ConfigError(f"couldn't find key {wanted} in {kind} {reference.get('name')}")


_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))", re.DOTALL)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return `text` with its references replaced."""

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return variables.get(name, match.group(0))

    return _REFERENCE.sub(replace, text)
