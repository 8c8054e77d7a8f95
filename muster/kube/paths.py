"""Where objects live on the API server. The transport quotes paths; here no name may reach beyond its place in one."""

from muster.api.errors import MusterError
from muster.api.names import GROUP, PLURAL, VERSION


def _segment(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name:
        raise MusterError(f"{name!r} cannot be the name of a Kubernetes object; use letters, digits and dashes")
    return name


def core(namespace: str, resource: str, name: str = "") -> str:
    """The path of a core/v1 collection, or of the object ``name`` in it. An impossible name is a ``MusterError``."""
    collection = f"/api/v1/namespaces/{_segment(namespace)}/{resource}"
    return f"{collection}/{_segment(name)}" if name else collection


def experiment(namespace: str, name: str) -> str:
    """The path of an Experiment; its status is at ``<path>/status``."""
    return f"/apis/{GROUP}/{VERSION}/namespaces/{_segment(namespace)}/{PLURAL}/{_segment(name)}"
