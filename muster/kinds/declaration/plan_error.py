"""The error of a declaration for an object that cannot be planned."""

from muster.api.errors import MusterError


class PlanError(MusterError):
    """The spec is well-formed, but asks for something this release does not do."""
