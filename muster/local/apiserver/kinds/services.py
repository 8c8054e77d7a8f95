"""Defaults, cluster IPs and validation of Services.

Rules from kubernetes pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

from muster.local.apiserver.errors import Cause, required, unsupported, wrong
from muster.local.apiserver.kinds.metadata_validation import label_1123

Json = dict[str, Any]
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_ALLOCATED = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def set_defaults(service: Json) -> None:
    """Set the defaults of a Service, in place."""
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if "port" in port:
            port.setdefault("targetPort", port["port"])
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    service.setdefault("status", {"loadBalancer": {}})


def allocate(service: Json, taken: set[str]) -> None:
    """Give a new Service the first free address of 10.96.0.0/16, unless it has one or is headless."""
    spec = service["spec"]
    if spec["type"] == "ExternalName":
        return
    if not spec.get("clusterIP"):
        free = (f"10.96.{n >> 8}.{n & 255}" for n in range(2, 65_535))
        spec["clusterIP"] = next(a for a in free if a not in taken)
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def keep_allocated(service: Json, old: Json) -> None:
    """Carry allocated addresses over to an update that leaves them out."""
    spec, held = service["spec"], old.get("spec") or {}
    if spec["type"] != "ExternalName":
        for field in _ALLOCATED:
            if not spec.get(field) and held.get(field):
                spec[field] = held[field]


def check(service: Json, old: Json | None) -> list[Cause]:
    """Validate a Service, or an update of it."""
    spec = service["spec"]
    causes: list[Cause] = []
    if spec["type"] not in _TYPES:
        causes.append(unsupported("spec.type", spec["type"], _TYPES))
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        causes.append(required("spec.ports"))
    if spec["type"] == "ExternalName" and not spec.get("externalName"):
        causes.append(required("spec.externalName"))
    seen: set[str] = set()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        name = port.get("name") or ""
        if name:
            causes += label_1123(f"{where}.name", name)
        elif len(ports) > 1:
            causes.append(required(f"{where}.name"))
        if name and name in seen:
            causes.append(Cause(f"{where}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate"))
        seen.add(name)
        number = port.get("port", 0)
        if not 1 <= number <= 65535:
            causes.append(wrong(f"{where}.port", number, "must be between 1 and 65535, inclusive"))
        if port["protocol"] not in _PROTOCOLS:
            causes.append(unsupported(f"{where}.protocol", port["protocol"], _PROTOCOLS))
    before = (old or {}).get("spec", {}).get("clusterIP")
    if before and spec.get("clusterIP") != before:
        causes.append(wrong("spec.clusterIP", spec.get("clusterIP"), "field is immutable"))
    return causes
