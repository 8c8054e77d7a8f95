"""Which generation of the protocol a coordinator speaks.

A coordinator says so only by refusing: a method it does not know ends in UNIMPLEMENTED, without any effect. The
ladder is climbed from the newest generation down, and the rung that answered is kept for that life of the
coordinator. After a restart, or when the kept rung is refused, the climb begins anew, for the new process 0 may have
another jaxlib.
"""

from enum import StrEnum

from muster.watchers.probes.jax.rpc import Method


class Generation(StrEnum):
    """A generation of the roll call, with the name it has in `RollAnswer.protocol`."""

    V2 = "v2"
    """jaxlib 0.10 on: WatchTasks, with incarnations and waiting."""
    V1_WATCH = "v1-watch"
    """jaxlib 0.7 to 0.9: WatchJobState, all tasks."""
    V1_JOB = "v1-job"
    """jaxlib 0.5.3 to 0.6: GetJobState, all tasks."""
    V1_RANK_ZERO = "v1-task0"
    """jaxlib 0.4.35 to 0.5.1: GetTaskState of task 0. It hangs on 0.9, so it comes after WatchJobState."""

    @property
    def partial(self) -> str:
        """Why the roll covers rank 0 only; empty where it covers all ranks."""
        return "this version of jax reports rank 0 only" if self is Generation.V1_RANK_ZERO else ""

    @property
    def roll(self) -> Method:
        """The call that lists the tasks."""
        return _ROLL[self]


_ROLL = {
    Generation.V2: Method.V2_WATCH_TASKS,
    Generation.V1_WATCH: Method.V1_WATCH_JOB_STATE,
    Generation.V1_JOB: Method.V1_GET_JOB_STATE,
    Generation.V1_RANK_ZERO: Method.V1_GET_TASK_STATE,
}


class ProtocolNegotiation:
    """The generations to try, in order."""

    def __init__(self) -> None:
        self.rung: Generation | None = None
        """The generation that answered last; None before any did."""

    def climb(self) -> tuple[Generation, ...]:
        """The kept rung first, then all others from the newest down."""
        if self.rung is None:
            return tuple(Generation)
        return (self.rung, *(generation for generation in Generation if generation is not self.rung))

    def keep(self, rung: Generation) -> None:
        """This generation answered."""
        self.rung = rung

    def forget(self) -> None:
        """The next answer may come from another life of the coordinator."""
        self.rung = None
