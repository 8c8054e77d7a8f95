"""API paths of the objects that the node agent reads and writes."""

from muster.kube.paths import core, custom
from muster.local.node import objects
from muster.local.node.objects import Object

PODS = core(None, "pods")
SERVICES = core(None, "services")
NODES = core(None, "nodes")
LEASES = custom("coordination.k8s.io/v1", "kube-node-lease", "leases")


def pod_path(pod: Object, *rest: str) -> str:
    """The path of a pod, or of one of its subresources."""
    return "/".join((core(objects.namespace(pod), "pods", objects.name(pod)), *rest))
