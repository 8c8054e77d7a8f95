"""A container's environment, command and args, and the objects that they refer to, by pkg/kubelet/kubelet_pods.go.

`envFrom` comes first, then `env` in order; a value can refer to the variables before it. Pods do not inherit the
agent's environment. They start with PATH (the directory of the agent's Python first, so that `python3` is that Python),
HOME and LANG; pods of `muster run` also with the environment of its caller (`muster.local.home`).

ConfigMaps, Secrets, claims and tokens, of volumes too, are read when the pod or container starts. The messages about
what does not exist are the kubelet's.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from muster.api.errors import MusterError, NotFound
from muster.kube.resources import ResourceClient, core
from muster.local.node import objects
from muster.local.node.objects import Object


class ConfigError(Exception):
    """A container refers to something that does not exist. `reason` is the reason of its waiting state."""

    def __init__(self, message: str, reason: str = "CreateContainerConfigError") -> None:
        super().__init__(message)
        self.reason = reason


class ConfigSources:
    """Reader of the API server, without a cache. ``tokens`` is True if the server issues some: else none are asked."""

    def __init__(self, api: ResourceClient, *, tokens: bool = False) -> None:
        self._api = api
        self._tokens = tokens

    async def get(self, namespace: str, plural: str, name: str) -> Object | None:
        """Return the object, or None if there is none."""
        try:
            return await self._api.get(core(namespace, plural, name))
        except NotFound:
            return None
        except MusterError as error:
            raise ConfigError(f"cannot read {plural}/{name}: {error}") from error

    async def token(self, pod: Object, audience: str, seconds: int) -> str | None:
        """Return a token of the pod's account, bound to the pod (pkg/kubelet/token); None where none is issued."""
        if not self._tokens:
            return None
        account = objects.account(pod)
        bound = {"apiVersion": "v1", "kind": "Pod", "name": objects.name(pod), "uid": objects.uid(pod)}
        spec = {"audiences": [audience] if audience else [], "expirationSeconds": seconds, "boundObjectRef": bound}
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        try:
            path = core(objects.namespace(pod), "serviceaccounts", account)
            answer = await self._api.create(f"{path}/token", request)
        except MusterError as error:
            raise ConfigError(f"no token of serviceaccount/{account}: {error}") from error
        return str(objects.status(answer).get("token") or "")


async def read_config_map(reference: Object, namespace: str, sources: ConfigSources) -> Mapping[str, str]:
    """Return the data of a ConfigMap; empty if it is optional and does not exist."""
    name = str(reference.get("name") or reference.get("configMapName") or "")
    data = _data_of(await sources.get(namespace, "configmaps", name), reference, f'configmap "{name}"')
    return {str(key): str(value) for key, value in data.items()}


async def read_secret(reference: Object, namespace: str, sources: ConfigSources) -> Mapping[str, bytes]:
    """Return the decoded data of a Secret; empty if it is optional and does not exist."""
    name = str(reference.get("name") or reference.get("secretName") or "")
    data = _data_of(await sources.get(namespace, "secrets", name), reference, f'secret "{name}"')
    try:
        return {key: base64.b64decode(value, validate=True) for key, value in data.items()}
    except (binascii.Error, TypeError, ValueError) as error:
        raise ConfigError(f'secret "{name}" holds data that is not base64') from error


def _data_of(found: Object | None, reference: Object, what: str) -> dict[str, Any]:
    """Return the data of the object; empty if there is none and the reference is optional."""
    if found is None and not reference.get("optional"):
        raise ConfigError(f"{what} not found")
    return dict(found.get("data") or {}) if found is not None else {}


_KEYED = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """A pod on this node, with the addresses that it has there."""

    pod: Object
    node: str
    address: str
    host_address: str

    def field(self, path: str) -> str:
        """Return the value of a `fieldRef` (downward API); raises ConfigError for a field that is not supported."""
        if match := _KEYED.fullmatch(path):
            values: Mapping[str, str] = objects.metadata(self.pod).get(match.group(1)) or {}
            return values.get(match.group(2), "")
        known = {
            "metadata.name": objects.name(self.pod),
            "metadata.namespace": objects.namespace(self.pod),
            "metadata.uid": objects.uid(self.pod),
            "spec.nodeName": self.node,
            "spec.serviceAccountName": objects.account(self.pod),
            "status.podIP": self.address,
            "status.podIPs": self.address,
            "status.hostIP": self.host_address,
            "status.hostIPs": self.host_address,
        }
        if path not in known:
            raise ConfigError(f"fieldRef {path!r} is not supported; use one of {', '.join(sorted(known))}")
        return known[path]


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
    """Return `text` with its references replaced (k8s.io/kubernetes/third_party/forked/golang/expansion).

    `$(NAME)` is replaced by the value of the variable, and kept if there is no such variable. `$$` is one dollar, so
    `$$(NAME)` gives `$(NAME)`. An unclosed `$(` and any other `$x` are kept. Values are not expanded again.
    """

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return variables.get(name, match.group(0))

    return _REFERENCE.sub(replace, text)
