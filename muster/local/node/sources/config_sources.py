"""ConfigMaps, Secrets, claims and tokens that containers and volumes refer to, read when the container starts.

The error messages are the kubelet's.

The downward API has the fields of its pod that a container can refer to with `fieldRef`.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.api.errors import MusterError, NotFound
from muster.kube.paths import core
from muster.kube.resources import ResourceClient
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
        """Return the value of a `fieldRef`; raises ConfigError for a field that is not supported."""
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
