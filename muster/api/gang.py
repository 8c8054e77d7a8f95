"""Facts of the gang in a status: the last roll call, its steps, and the sizes of the groups of a run."""

from typing import Annotated, Final

import msgspec

from muster.api.values.humanize import often
from muster.api.wire.kinds import Count, Counter, Name, Reason, Time
from muster.api.wire.structs import Wire

MAX_MEMBERS: Final = 100_000
"""Members of an experiment."""
MAX_MISSING: Final = 64
MAX_GROUPS: Final = 1_024
"""Groups whose sizes a status holds: as many replicated jobs a JobSet may have."""


class RollCall(msgspec.Struct, frozen=True, gc=False):
    """The last roll call of this epoch."""

    expected: Annotated[Counter, Wire("Ranks that must arrive.")]
    arrived: Annotated[Counter, Wire("Ranks that have arrived.")]
    missing: Annotated[
        tuple[Counter, ...], Wire(f"The lowest missing ranks, at most {MAX_MISSING}.", most=MAX_MISSING)
    ] = ()


class Steps(msgspec.Struct, frozen=True, gc=False):
    """Progress of the programs that report steps. A program's report is a claim."""

    epoch: Annotated[Counter, Wire("Epoch of the gang that reported them.")]
    step: Annotated[Counter, Wire("The highest step that at least half of the reporting ranks have reached.")]
    per_second: Annotated[Reason, Wire("Steps per second, such as 9.81; absent before two steps were reported.")] = ""
    reporting: Annotated[Counter, Wire("Ranks that report.")] = 0
    hung_after: Annotated[
        Counter,
        Wire(
            "Seconds without a report after which the gang hangs, where its programs send them to musterd; 0 where "
            "musterd reads them from the gang's own store.",
        ),
    ] = 0
    at: Annotated[
        Time,
        Wire("When they were read; while the gang works that may be a minute ago.", name="time", stays="it is over"),
    ] = 0.0
    restarts: Annotated[Count, Wire("The most restarts of a rank's processes inside their pod, by torchrun.")] = 0


def of_restarts_inside(times: int) -> str:
    """Return ``processes restarted once by torchrun``."""
    return f"processes restarted {often(times)} by torchrun"


class HeldDevices(msgspec.Struct, frozen=True, gc=False):
    """Devices of one extended resource that the pods of a run hold."""

    resource: Annotated[Name, Wire("The extended resource, such as nvidia.com/gpu.", required=True)]
    count: Annotated[Counter, Wire("How many of it the pods have that are on a node and have not ended.")]


class GroupSize(msgspec.Struct, frozen=True, gc=False):
    """Number of pods of a group."""

    name: Annotated[Name, Wire("Name of the group.", required=True)]
    jobs: Annotated[Counter, Wire("Its jobs.")]
    pods: Annotated[Counter, Wire("Pods of each job.")]
    at_a_time: Annotated[Counter, Wire("Pods of each job that run at a time.")]
