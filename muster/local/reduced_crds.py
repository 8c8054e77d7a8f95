"""The CRDs of the kinds that Muster runs beside Experiments, reduced: what the local cluster serves for them.

The real ones are of their controllers (that of JobSet has 800 kB). These have the names and the status subresource,
and leave the check of the spec to Muster. They are only for clusters without them.
"""

from typing import Any

from muster.kinds.registry.run_kinds import RUN_KINDS
from muster.state.vocabulary.subject import Subject

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def run_kinds_crds() -> tuple[dict[str, Any], ...]:
    """Return one CustomResourceDefinition for each kind."""
    return tuple(reduced_crd(kind.subject) for kind in RUN_KINDS.values())


def reduced_crd(subject: Subject) -> dict[str, Any]:
    """Return a CustomResourceDefinition of that kind that takes any spec and status."""
    group, version = subject.api_version.split("/")
    schema = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _OPEN,
            "status": _OPEN,
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{subject.plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": subject.kind,
                "listKind": f"{subject.kind}List",
                "plural": subject.plural,
                "singular": subject.kind.lower(),
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
