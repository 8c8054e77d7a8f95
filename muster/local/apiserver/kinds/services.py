"""Defaults and validation of Services. They have no address: there is no proxy, and hosts files name their pods.

Rules from kubernetes pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go.
"""

from typing import Any

from muster.local.apiserver.errors import Cause, required, wrong
from muster.local.apiserver.kinds.metadata_validation import label_1123

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


def check(service: Json) -> list[Cause]:
    """Validate a Service."""
    spec = service["spec"]
    causes: list[Cause] = []
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        causes.append(required("spec.ports"))
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        if name := port.get("name") or "":
            causes += label_1123(f"{where}.name", name)
        elif len(ports) > 1:
            causes.append(required(f"{where}.name"))
        number = port.get("port", 0)
        if not 1 <= number <= 65535:
            causes.append(wrong(f"{where}.port", number, "must be between 1 and 65535, inclusive"))
    return causes
