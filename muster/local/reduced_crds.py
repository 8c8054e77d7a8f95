"""The CRDs of the foreign kinds that Muster runs, reduced: what the local cluster serves for them.

The real ones are of JobSet and Kubeflow (that of JobSet has 800 kB). These have the names, the status subresource and
the columns of ``kubectl get``, and leave the check of the spec to Muster. They are only for clusters without them.
"""

from typing import Any

from muster.state.vocabulary.subject import JAXJOB, JOBSET, Subject

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def foreign_crds() -> tuple[dict[str, Any], ...]:
    """One CustomResourceDefinition for each kind."""
    return (
        reduced_crd(
            JOBSET,
            {"name": "TerminalState", "type": "string", "jsonPath": ".status.terminalState"},
            {"name": "Restarts", "type": "integer", "jsonPath": ".status.restarts"},
            {"name": "Suspended", "type": "boolean", "jsonPath": ".spec.suspend"},
            _AGE,
        ),
        reduced_crd(JAXJOB, {"name": "State", "type": "string", "jsonPath": ".status.conditions[-1].type"}, _AGE),
    )


def reduced_crd(subject: Subject, *columns: dict[str, Any]) -> dict[str, Any]:
    """A CustomResourceDefinition of that kind that takes any spec and status."""
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
                    "additionalPrinterColumns": list(columns),
                }
            ],
        },
    }
