"""Defaults of Services. They have no address: there is no proxy, and hosts files name their pods.

Rules from kubernetes pkg/apis/core/v1/defaults.go.
"""

from typing import Any

Json = dict[str, Any]


def set_defaults(service: Json) -> None:
    """Set the defaults of a Service, in place."""
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if "port" in port:
            port.setdefault("targetPort", port["port"])
    service.setdefault("status", {"loadBalancer": {}})
