"""Negotiates which generation of the protocol a coordinator speaks.

A coordinator answers UNIMPLEMENTED to a method it does not know, which has no effect on the job. The probe tries the
generations from the newest to the oldest and keeps the one that answers. After a restart of the coordinator, or when
that one is refused, it tries all again: the new process 0 may have another jaxlib.
"""

from enum import StrEnum

from muster.watchers.probes.jax.rpc import Method


class Generation(StrEnum):
    """A generation of the protocol, under its name in `RollAnswer.protocol`."""

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
        self.current: Generation | None = None
        """The generation that answered last; None before the first answer."""

    def candidates(self) -> tuple[Generation, ...]:
        """The current generation first, then the others from the newest to the oldest."""
        if self.current is None:
            return tuple(Generation)
        return (self.current, *(generation for generation in Generation if generation is not self.current))

    def accept(self, generation: Generation) -> None:
        """Keep the generation that answered."""
        self.current = generation

    def reset(self) -> None:
        """Negotiate again: the next answer may come from another process."""
        self.current = None
