"""KubeRay's operator, and the RayClusters and RayJobs that it runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.real.controllers import Controller, Kind
from tests.real.ground import STAND_IN, TOLERATIONS
from tests.real.namespace import Object

API: Final = "ray.io/v1"
KINDS: Final = (
    Kind(API, "rayclusters", "RayCluster"),
    Kind(API, "rayjobs", "RayJob"),
    Kind(API, "rayservices", "RayService"),
)


def cluster(*workers: str, **pod: Any) -> Object:
    """The spec of a cluster without a dashboard: a head, and a group of one for each script of a pretended worker.

    ``pod`` is what is different in the spec of the last worker.
    """
    return {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {"include-dashboard": "false"}, "template": _template("*: run 900")},
        "workerGroupSpecs": [
            {
                "groupName": f"group-{number}",
                **dict.fromkeys(("replicas", "minReplicas", "maxReplicas", "numOfHosts"), 1),
                "rayStartParams": {},
                "template": _template(script, **(pod if number == len(workers) - 1 else {})),
            }
            for number, script in enumerate(workers)
        ],
    }


def ray_object(kind: str, name: str, spec: Object) -> Object:
    """An object whose pods have the commands that their templates state."""
    metadata = {"name": name, "annotations": {"ray.io/overwrite-container-cmd": "true"}}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def _template(script: str, **pod: Any) -> Object:
    container = {"name": "main", "image": "registry.example/ray:2", "command": [script]}
    return {"spec": {"nodeSelector": dict(STAND_IN), "tolerations": TOLERATIONS, "containers": [container], **pod}}


def _options(_folder: Path, config: str) -> Sequence[str]:
    return (
        "--metrics-addr=0",
        "--health-probe-bind-address=0",
        "--enable-leader-election=false",
        f"--kubeconfig={config}",
    )


INJECTED: Final = ("ENABLE_INIT_CONTAINER_INJECTION", "ENABLE_PROBES_INJECTION")
"""What the operator adds to pods, and programs that are no Ray do not pass."""
RAY: Final = Controller("ray-operator", "RAY_OPERATOR", KINDS, _options, lambda _: dict.fromkeys(INJECTED, "false"))
