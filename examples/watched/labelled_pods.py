"""Three pods that no Experiment made: one label joins them, and two of their programs call JAX's coordinator.

``muster.dev/observe: swarm`` is all that Muster needs; the annotations name the framework and the number of ranks.
"""

import sys
from typing import Any

NAME = "swarm"
SIZE = 3
PORT = 1234
ABSENT = 2
LABELS = {"muster.dev/observe": NAME}
ANNOTATIONS = {"muster.dev/operator": "jax", "muster.dev/size": str(SIZE), "muster.dev/coordinator-port": str(PORT)}

PROGRAM = f"""
import os, time
rank = int(os.environ["RANK"])
if rank == {ABSENT}:
    print("this rank never calls the coordinator", flush=True)
    time.sleep(3600)
import jax
bind = os.environ["POD_IP"] + ":{PORT}"
jax.distributed.initialize(os.environ["COORDINATOR"], {SIZE}, rank, coordinator_bind_address=bind)
"""


def service() -> dict[str, Any]:
    """Return the headless Service that gives the pods their names."""
    spec = {"clusterIP": "None", "selector": LABELS, "publishNotReadyAddresses": True}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": spec}


def pod(rank: int) -> dict[str, Any]:
    """Return one pod. Its name ends in its rank, and no other label has the rank."""
    address = {"fieldRef": {"fieldPath": "status.podIP"}}
    container = {
        "name": "train",
        "image": "example",
        "command": [sys.executable, "-c", PROGRAM],
        "env": [
            {"name": "RANK", "value": str(rank)},
            {"name": "POD_IP", "valueFrom": address},
            {"name": "COORDINATOR", "value": f"{NAME}-0.{NAME}:{PORT}"},
            {"name": "JAX_PLATFORMS", "value": "cpu"},
        ],
    }
    spec: dict[str, Any] = {
        "hostname": f"{NAME}-{rank}",
        "subdomain": NAME,
        "restartPolicy": "Never",
        "containers": [container],
    }
    spec["terminationGracePeriodSeconds"] = 2
    metadata = {"name": f"{NAME}-{rank}", "labels": LABELS, "annotations": ANNOTATIONS}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**spec, "terminationGracePeriodSeconds": 2},
    }
