"""Kinds of other projects without the checks of their fields, for servers that have not their definitions."""

from collections.abc import Mapping
from typing import Any


def definition(
    api_version: str,
    plural: str,
    kind: str,
    *,
    scope: str = "Namespaced",
    status: bool = True,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind whose objects may have any fields; ``status``: as a subresource, too."""
    group, _, name = api_version.partition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: dict[str, Any] = {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if status:
        version["subresources"] = {"status": {}}
    names = {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": dict(annotations or {})},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [version]},
    }
