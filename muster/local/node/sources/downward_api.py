"""The downward API: the fields of its pod that a container can refer to with `fieldRef`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muster.local.node import objects
from muster.local.node.objects import Object
from muster.local.node.sources.config_sources import ConfigError

_KEYED = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """A pod on this node, with the addresses that it has there."""

    pod: Object
    node: str
    address: str
    host_address: str

    def field(self, path: str) -> str:
        """The value of a `fieldRef`; raises ConfigError for a field that is not supported."""
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
