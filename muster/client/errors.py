"""What the client raises beyond ``muster.api.errors``.

MusterError
├── ApiError ...            a request was not done (muster.api.errors)
├── NoCluster               no cluster is configured, or its configuration cannot be used
├── NotInstalled            the cluster does not know Experiments
├── NoSuchExperiment        no experiment of that name
├── NoSuchRank              the experiment has no such member, or the member has no pod now
├── LogsGone                the log is no longer kept
├── Vanished                the experiment was deleted during a wait for it
└── WaitTimeout             the condition did not hold in time
"""

import contextlib
from collections.abc import Iterator

from muster.api.errors import MusterError, NotFound


class NoCluster(MusterError):
    """No cluster is configured, or its configuration cannot be used."""


class NotInstalled(MusterError):
    """The cluster does not know the kind Experiment."""


class NoSuchExperiment(MusterError):
    """No experiment of that name in that namespace."""


class NoSuchRank(MusterError):
    """The experiment has no such member, or the member has no pod now."""


class LogsGone(MusterError):
    """The log is no longer kept: Kubernetes drops a pod's log together with the pod."""


class Vanished(MusterError):
    """The experiment was deleted during a wait for it."""


class WaitTimeout(MusterError):
    """The condition did not hold in time."""


@contextlib.contextmanager
def installed(name: str = "", space: str = "") -> Iterator[None]:
    """Distinguish the two meanings of 404: the server does not know the kind, or has no such object."""
    try:
        yield
    except NotFound as error:
        if name and name in error.message:
            raise NoSuchExperiment(
                f"experiment {space}/{name} does not exist; `muster get -A` lists those that do"
            ) from error
        if "could not find the requested resource" in error.message or "page not found" in error.message:
            raise NotInstalled(
                "this cluster does not know experiments: install Muster first (kubectl apply -f deploy/crds/), "
                "or choose another cluster with --context"
            ) from error
        raise
