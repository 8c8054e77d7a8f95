"""Defaults, cluster IPs and validation of Services.

Rules from kubernetes pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go.
"""

from typing import Any

from muster.local.apiserver.errors import Cause, required, wrong
from muster.local.apiserver.kinds.metadata_validation import label_1123

Json = dict[str, Any]


def set_defaults(service: Json, old: Json | None) -> None:
    """Set the defaults of a Service, in place; an update that leaves its address out keeps that of ``old``."""
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if "port" in port:
            port.setdefault("targetPort", port["port"])
    service.setdefault("status", {"loadBalancer": {}})
    held = ((old or {}).get("spec") or {}).get("clusterIP")
    if held and not spec.get("clusterIP"):
        spec["clusterIP"] = held


def allocate(service: Json, taken: set[str]) -> None:
    """Give a new Service the first free address of 10.96.0.0/16, unless it has one or is headless."""
    spec = service["spec"]
    if spec["type"] != "ExternalName" and not spec.get("clusterIP"):
        free = (f"10.96.{n >> 8}.{n & 255}" for n in range(2, 65_535))
        spec["clusterIP"] = next(a for a in free if a not in taken)


def check(service: Json, old: Json | None) -> list[Cause]:
    """Validate a Service, or an update of it."""
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
    before = (old or {}).get("spec", {}).get("clusterIP")
    if before and spec.get("clusterIP") != before:
        causes.append(wrong("spec.clusterIP", spec.get("clusterIP"), "field is immutable"))
    return causes
