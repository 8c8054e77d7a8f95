"""Errors of the client beyond ``muster.api.errors``, whose ``ApiError`` is raised where a request was not done."""

from muster.api.errors import Forbidden, MusterError


class NoCluster(MusterError):
    """No cluster is configured, or its configuration cannot be used."""


class NotInstalled(MusterError):
    """The cluster does not know the kind Experiment."""


class NoSuchExperiment(MusterError):
    """No experiment of that name in that namespace."""


class NoSuchRank(MusterError):
    """The experiment has no such member, or the member has no pod now."""


class UnknownEpoch(MusterError):
    """Nothing is kept of that epoch."""


class LogsGone(MusterError):
    """The log is no longer kept: Kubernetes drops a pod's log together with the pod."""


class Vanished(MusterError):
    """The experiment was deleted during a wait for it."""


class WaitTimeout(MusterError):
    """The condition did not hold in time."""


class CannotCancel(MusterError):
    """The object is of a kind that has no field for it."""


class OnlyWatched(MusterError):
    """Another controller runs the object, and Muster neither changes nor follows it."""


class RunByMuster(MusterError):
    """Muster runs the object: its record is in the status."""


def may_not(what: str, namespace: str, subresource: str, error: Forbidden) -> Forbidden:
    """Return the error for a reader who may not do that with pods, with the right that it takes."""
    text = (
        f"you may not {what} pods of namespace {namespace}: that takes the verbs `get` and `create` on "
        f"pods/{subresource}, which the role `edit` of Kubernetes has and `view` has not"
    )
    return Forbidden(text, status=error.status, reason=error.reason)
