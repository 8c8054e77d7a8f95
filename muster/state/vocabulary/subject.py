"""The subject of a plan: the kind of the object behind it, and the rules for the names of its members."""

from dataclasses import dataclass
from enum import StrEnum

from muster.api.names import API_VERSION, KIND, PLURAL, member_hostname, name_suffix, pod_name


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind of object that can run: it owns the pods, has the record in its status and is named in Events."""

    api_version: str = API_VERSION
    kind: str = KIND
    plural: str = PLURAL
    called: str = ""
    """Muster's name for the kind if another API group has a kind of the same name; empty: its own name."""

    @property
    def word(self) -> str:
        """Return the name of the kind, which is unique in Muster: ``JobSet``; ``VCJob`` for Volcano's ``Job``."""
        return self.called or self.kind

    @property
    def words(self) -> str:
        """Return the plural name of the kind: ``jobsets``, ``vcjobs``."""
        return f"{self.called.lower()}s" if self.called else self.plural

    @property
    def group(self) -> str:
        """Return the API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def path(self) -> str:
        """Return the path of all objects of that kind."""
        return f"/apis/{self.api_version}/{self.plural}"


def title(kind: str, name: str) -> str:
    """Return the name of an object for people: ``train`` of an Experiment, ``jobset/train`` of another kind."""
    return name if kind == KIND else f"{kind.lower()}/{name}"


EXPERIMENT = Subject()
JOBSET = Subject("jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets")
JAXJOB = Subject("kubeflow.org/v1", "JAXJob", "jaxjobs")
PODS = Subject("v1", "Pods", "")
"""A set of labelled pods, which is no kind of the API: Events about a set are recorded on one of its pods."""


class Names(StrEnum):
    """The names of a plan's pods and of their hosts.

    A pod's name always ends in five characters of uid, epoch and attempt, so that a create that is sent twice makes no
    second pod. A host has them in an Experiment only: programs of other kinds rely on the host names of their own
    controller, which are the same in every epoch. For these the barrier alone keeps two epochs apart.
    """

    MUSTER = "muster"
    """Pod ``<name>-<group>-<job>-<pod>-<suffix>``, host ``<group>-<job>-<pod>-<suffix>``."""
    JOBSET = "jobset"
    """Pod as for ``MUSTER``, host ``<name>-<group>-<job>-<pod>`` (jobset: pkg/controllers, CoordinatorEndpoint)."""
    KUBEFLOW = "kubeflow"
    """Pod ``<name>-<group>-<pod>-<suffix>``, host ``<name>-<group>-<pod>`` (training-operator: GenGeneralName)."""
    WATCHED = "watched"
    """Another controller names the pods: Muster calls a member ``<name>-<group>-<job>-<pod>``."""

    def pod(self, name: str, group: str, job: int, pod: int, suffix: str) -> str:
        """Return the name of a member's pod."""
        if self is Names.KUBEFLOW:
            return f"{name}-{group}-{pod}-{suffix}"
        if self is Names.WATCHED:
            return f"{name}-{group}-{job}-{pod}"
        return pod_name(name, group, job, pod, suffix)

    def host(self, name: str, group: str, job: int, pod: int, uid: str, epoch: int) -> str:
        """Return the host name of a member, inside the subdomain of its plan."""
        match self:
            case Names.MUSTER:
                return member_hostname(group, job, pod, name_suffix(uid, epoch))
            case Names.JOBSET | Names.WATCHED:
                return f"{name}-{group}-{job}-{pod}"
            case Names.KUBEFLOW:
                return f"{name}-{group}-{pod}"
