"""Which Experiment a write is about, and where that is on the API server."""

from dataclasses import dataclass

from muster.api.names import API_VERSION, PLURAL
from muster.kube.paths import custom


@dataclass(frozen=True, slots=True)
class ExperimentRef:
    """One life of one Experiment: a deleted and recreated Experiment of the same name has another ``uid``."""

    namespace: str
    name: str
    uid: str

    @property
    def path(self) -> str:
        """The path of the object; its status is at ``<path>/status``."""
        return experiment_path(self.namespace, self.name)


def experiment_path(namespace: str, name: str) -> str:
    """The path of the Experiment of that name."""
    return custom(API_VERSION, namespace, PLURAL, name)
