"""Where things are in the Kubernetes API."""

from urllib.parse import quote

from muster.api.names import API_VERSION, LABEL_EXPERIMENT, PLURAL


def experiments(namespace: str | None) -> str:
    """The experiments of a namespace; of all with None."""
    return f"/apis/{API_VERSION}{_within(namespace)}/{PLURAL}"


def experiment(namespace: str, name: str) -> str:
    """One experiment."""
    return f"{experiments(namespace)}/{quote(name, safe='')}"


def pods(namespace: str) -> str:
    """The pods of a namespace."""
    return f"/api/v1{_within(namespace)}/pods"


def log(namespace: str, pod: str) -> str:
    """A pod's log."""
    return f"{pods(namespace)}/{quote(pod, safe='')}/log"


def events(namespace: str) -> str:
    """The events of a namespace."""
    return f"/api/v1{_within(namespace)}/events"


def members_of(name: str) -> dict[str, str]:
    """Query parameters that choose the pods of one experiment."""
    return {"labelSelector": f"{LABEL_EXPERIMENT}={name}"}


def _within(namespace: str | None) -> str:
    return "" if namespace is None else f"/namespaces/{quote(namespace, safe='')}"
