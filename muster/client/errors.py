"""What the client raises beyond ``muster.api.errors``.

MusterError
├── ApiError ...            a request was not done (muster.api.errors)
├── NoCluster               nothing says which cluster to talk to, or what says so cannot be used
├── NotInstalled            the cluster does not know Experiments
├── NoSuchExperiment        no experiment of that name
├── NoSuchRank              the experiment has no such member, or it has no pod now
├── LogsGone                the log that was asked for is no longer kept
├── Vanished                the experiment was deleted while it was waited for
└── WaitTimeout             what was waited for did not happen in time
"""

from muster.api.errors import MusterError


class NoCluster(MusterError):
    """Nothing says which cluster to talk to, or what says so cannot be used."""


class NotInstalled(MusterError):
    """The cluster does not know the kind Experiment."""


class NoSuchExperiment(MusterError):
    """No experiment of that name in that namespace."""


class NoSuchRank(MusterError):
    """The experiment has no such member, or no pod stands for it now."""


class LogsGone(MusterError):
    """The log is no longer kept: Kubernetes drops a pod's log together with the pod."""


class Vanished(MusterError):
    """The experiment was deleted while it was waited for."""


class WaitTimeout(MusterError):
    """What was waited for did not happen in time."""
