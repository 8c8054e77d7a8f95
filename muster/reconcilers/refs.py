"""The identity of an object whose plan Muster carries out, and its path on the API server."""

from dataclasses import dataclass

from muster.kube.resources import custom
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.subject import EXPERIMENT, Subject


@dataclass(frozen=True, slots=True)
class ExperimentRef:
    """One object: an Experiment, or one of another kind (``subject``).

    After it is deleted and created again under the same name, its ``uid`` is another.
    """

    namespace: str
    name: str
    uid: str
    subject: Subject = EXPERIMENT
    watched: bool = False
    """True if another controller runs it. A daemon that restarts does not repeat its Events."""

    @property
    def path(self) -> str:
        """The path of the object; its status is at ``<path>/status``."""
        return custom(self.subject.api_version, self.namespace, self.subject.plural, self.name)


def path_of(plan: Plan) -> str:
    """Return the path of the plan's object."""
    return ExperimentRef(plan.namespace, plan.name, plan.uid, plan.subject).path
