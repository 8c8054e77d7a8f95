"""The only calls the probe can make, and the only place that makes them.

The coordination service has no authentication and does not protect itself: one call with a version number it has not
reached, one question about a task id outside the job, one heartbeat in another's name, and process 0 aborts and takes
the job with it (seen on jaxlib 0.4.35 to 0.12). So what is sent is not built from parameters but chosen from a closed
list:

- `Method` has the eight methods that only read; nothing else in the package knows a method's name.
- A request for changes needs a `Seen`, a version that this same life of the coordinator has itself reported.
- The older generation cannot tell one life of the coordinator from another, so it is never asked for changes.
- Of the single tasks only 0 is asked about: it is in every job.
"""

import asyncio
from dataclasses import dataclass
from enum import Enum

import grpc
import grpc.aio

from muster.watchers.probes.jax.protobuf import bytes_field, fixed64_field, integer_field

_EVERYTHING_NOW = -1
"""The version that gets the full list at once, whatever the current version is."""
_V1_JOB = b"jax_worker"


class Method(Enum):
    """The methods that read without an effect. Source of the names: the descriptors embedded in jaxlib."""

    V2_WATCH_TASKS = "/xla.coordination.CoordinationService/WatchTasks"
    V2_TRY_GET_KEY_VALUE = "/xla.coordination.CoordinationService/TryGetKeyValue"
    V2_GET_KEY_VALUE_DIR = "/xla.coordination.CoordinationService/GetKeyValueDir"
    V1_WATCH_JOB_STATE = "/tensorflow.CoordinationService/WatchJobState"
    V1_GET_JOB_STATE = "/tensorflow.CoordinationService/GetJobState"
    V1_GET_TASK_STATE = "/tensorflow.CoordinationService/GetTaskState"
    V1_TRY_GET_KEY_VALUE = "/tensorflow.CoordinationService/TryGetKeyValue"
    V1_GET_KEY_VALUE_DIR = "/tensorflow.CoordinationService/GetKeyValueDir"


@dataclass(frozen=True, slots=True)
class Seen:
    """A version of the task list, and the life of the coordinator that reported it."""

    incarnation: int
    version: int


class NoAnswer(Exception):
    """The call ended without an answer: the status, its text, and the trailing `grpc-status-details-bin`."""

    def __init__(self, code: grpc.StatusCode, text: str, status_details: bytes = b"") -> None:
        super().__init__(f"{code.name}: {text}")
        self.code = code
        self.text = text
        self.status_details = status_details


@dataclass(frozen=True, slots=True)
class Question:
    """One permitted call. Raises ValueError where the parts do not belong together."""

    method: Method
    incarnation: int = 0
    """v2: the life of the coordinator that is meant; 0 asks it to name itself."""
    seen: Seen | None = None
    """v2 WatchTasks: wait until the list has changed from this version; None asks for the list as it is."""
    key: str = ""
    """Key or directory of the key-value calls."""

    def __post_init__(self) -> None:
        """Refuse what could never be sent safely, before anything is sent."""
        name = self.method.name
        if self.seen is not None:
            if self.method is not Method.V2_WATCH_TASKS:
                raise ValueError(f"{name} cannot wait for changes: only V2_WATCH_TASKS can")
            if self.seen.incarnation != self.incarnation or not self.incarnation:
                raise ValueError(f"{name}: version {self.seen.version} is of another life of the coordinator")
        if self.incarnation and not name.startswith("V2"):
            raise ValueError(f"{name} has no incarnation")
        if bool(self.key) != name.endswith(("KEY_VALUE", "DIR")):
            raise ValueError(f"{name}: a key is needed by the key-value calls, and by no other")

    def encode(self) -> bytes:
        """The request's bytes."""
        key = self.key.encode("utf-8", errors="replace")
        match self.method:
            case Method.V2_WATCH_TASKS:
                version = self.seen.version if self.seen is not None else _EVERYTHING_NOW
                return self._incarnations() + integer_field(2, version)
            case Method.V2_TRY_GET_KEY_VALUE | Method.V2_GET_KEY_VALUE_DIR:
                return self._incarnations() + bytes_field(2, key)
            case Method.V1_WATCH_JOB_STATE:
                return bytes_field(1, _V1_JOB) + integer_field(2, _EVERYTHING_NOW)
            case Method.V1_GET_JOB_STATE:
                return bytes_field(1, _V1_JOB)
            case Method.V1_GET_TASK_STATE:
                return bytes_field(1, bytes_field(1, _V1_JOB) + integer_field(2, 0))
            case Method.V1_TRY_GET_KEY_VALUE | Method.V1_GET_KEY_VALUE_DIR:
                return bytes_field(1, key)

    def _incarnations(self) -> bytes:
        return bytes_field(1, fixed64_field(3, self.incarnation))


async def send(channel: grpc.aio.Channel, question: Question, deadline: float = 0.0) -> bytes:
    """The raw answer to one question; the only function that puts anything on a channel.

    A question that waits for changes has no deadline: each such call given up costs process 0 memory until its next
    change. Every other has `deadline` seconds, and
    ends at once without. Raises `NoAnswer` for every end but an answer.
    """
    call = channel.unary_unary(question.method.value, request_serializer=None, response_deserializer=None)
    try:
        answer: bytes = await call(question.encode(), timeout=None if question.seen is not None else deadline)
    except grpc.aio.AioRpcError as error:
        raise NoAnswer(error.code(), error.details() or "", _status_details(error)) from None
    except grpc.aio.UsageError as error:
        raise NoAnswer(grpc.StatusCode.CANCELLED, str(error)) from None
    except asyncio.CancelledError:
        # Closing the channel ends its calls with this very exception; only a cancelled task may go on with it.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise NoAnswer(grpc.StatusCode.CANCELLED, "the channel was closed") from None
    return answer


def _status_details(error: grpc.aio.AioRpcError) -> bytes:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            return value
    return b""
