"""The subject of a plan: the kind of the object it was made from, and how the names of its members are built."""

from dataclasses import dataclass
from enum import StrEnum

from muster.api.names import API_VERSION, KIND, PLURAL, member_hostname, name_suffix, pod_name


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind of object that can be run: it owns the pods, holds the record in its status and is named in Events."""

    api_version: str = API_VERSION
    kind: str = KIND
    plural: str = PLURAL
    called: str = ""
    """What Muster calls the kind where another API group has one of that name, too; empty: by its own name."""

    @property
    def word(self) -> str:
        """The name of the kind, which no other kind has here: ``JobSet``; ``VCJob`` of Volcano's ``Job``."""
        return self.called or self.kind

    @property
    def words(self) -> str:
        """What all objects of the kind are called: ``jobsets``, ``vcjobs``."""
        return f"{self.called.lower()}s" if self.called else self.plural

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def path(self) -> str:
        """The path of all objects of that kind."""
        return f"/apis/{self.api_version}/{self.plural}"


def title(kind: str, name: str) -> str:
    """The name of an object for people: ``train`` of an Experiment, ``jobset/train`` of another kind."""
    return name if kind == KIND else f"{kind.lower()}/{name}"


EXPERIMENT = Subject()
JOBSET = Subject("jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets")
JAXJOB = Subject("kubeflow.org/v1", "JAXJob", "jaxjobs")
PODS = Subject("v1", "Pods", "")
"""A set of labelled pods. Not a kind of the API: Events about a set are recorded on one of its pods."""


class Names(StrEnum):
    """How the pods of a plan and their hosts are named.

    A pod's name always ends in five characters of uid, epoch and attempt, so that a create that is sent twice makes no
    second pod. A host has them in an Experiment only: programs of other kinds rely on the host names of their own
    controller, which are the same in every epoch. There the barrier alone keeps two epochs apart.
    """

    MUSTER = "muster"
    """Pod ``<name>-<group>-<job>-<pod>-<suffix>``, host ``<group>-<job>-<pod>-<suffix>``."""
    JOBSET = "jobset"
    """Pod the same, host ``<name>-<group>-<job>-<pod>`` (jobset: pkg/controllers, CoordinatorEndpoint)."""
    KUBEFLOW = "kubeflow"
    """Pod ``<name>-<group>-<pod>-<suffix>``, host ``<name>-<group>-<pod>`` (training-operator: GenGeneralName)."""
    WATCHED = "watched"
    """Another controller names the pods: here a member is called ``<name>-<group>-<job>-<pod>``."""

    def pod(self, name: str, group: str, job: int, pod: int, suffix: str) -> str:
        """The name of a member's pod."""
        if self is Names.KUBEFLOW:
            return f"{name}-{group}-{pod}-{suffix}"
        if self is Names.WATCHED:
            return f"{name}-{group}-{job}-{pod}"
        return pod_name(name, group, job, pod, suffix)

    def host(self, name: str, group: str, job: int, pod: int, uid: str, epoch: int) -> str:
        """The host name of a member, inside the subdomain of its plan."""
        match self:
            case Names.MUSTER:
                return member_hostname(group, job, pod, name_suffix(uid, epoch))
            case Names.JOBSET | Names.WATCHED:
                return f"{name}-{group}-{job}-{pod}"
            case Names.KUBEFLOW:
                return f"{name}-{group}-{pod}"
