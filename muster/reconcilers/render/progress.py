"""How a member finds the progress endpoint, and proves which pod it is: ``spec.progressEndpoint``.

The names are Kubeflow Trainer's, of both alphas (``muster.api.trainer_status``). The token is a projected one of the
pod's service account, for this run and nothing else: no API server takes it. The authority is an annotation of the pod
that the same volume shows as a file, so neither a ConfigMap nor a right to make one is needed (as ADR 54).
"""

from dataclasses import dataclass

from muster.api.names import ANNOTATION_PROGRESS_CA, PROGRESS_VOLUME
from muster.api.trainer_status import CA_CERT, CA_FILE, MOUNT, PREFIXES, TOKEN, TOKEN_FILE, URL, audience, status_path
from muster.state.vocabulary.plan import Plan

TOKEN_SECONDS = 3600
"""The life of a token; the kubelet renews it after four fifths of that."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The progress endpoint as members reach it: its https address without a path, and PEM text of its authority."""

    url: str
    authority: str


def endpoint_variables(plan: Plan, endpoint: Endpoint) -> dict[str, str]:
    """The environment variables, by name."""
    values = {
        URL: f"{endpoint.url}{status_path(plan.namespace, plan.name)}",
        TOKEN: f"{MOUNT}/{TOKEN_FILE}",
        CA_CERT: f"{MOUNT}/{CA_FILE}",
    }
    return {prefix + name: value for prefix in PREFIXES for name, value in values.items()}


def endpoint_annotations(endpoint: Endpoint) -> dict[str, str]:
    """The authority, as an annotation of the pod."""
    return {ANNOTATION_PROGRESS_CA: endpoint.authority}


def endpoint_volume(plan: Plan) -> dict[str, object]:
    """core/v1 Volume with the token and the authority."""
    token = {
        "audience": audience(plan.namespace, plan.name),
        "expirationSeconds": TOKEN_SECONDS,
        "path": TOKEN_FILE,
    }
    field = {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{ANNOTATION_PROGRESS_CA}']"}
    shown = {"items": [{"path": CA_FILE, "fieldRef": field}]}
    return {
        "name": PROGRESS_VOLUME,
        "projected": {"sources": [{"serviceAccountToken": token}, {"downwardAPI": shown}]},
    }


def endpoint_mount() -> dict[str, object]:
    """core/v1 VolumeMount of it."""
    return {"name": PROGRESS_VOLUME, "mountPath": MOUNT, "readOnly": True}
