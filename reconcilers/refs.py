"""The identity of an Experiment, and its path on the API server."""

from dataclasses import dataclass

from muster.api.names import API_VERSION, PLURAL
from muster.kube.paths import custom


@dataclass(frozen=True, slots=True)
class ExperimentRef:
    """One Experiment. After it is deleted and created again under the same name, its ``uid`` is another."""

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
