"""The only calls that the probe can make, the only place that makes them, and their protobuf wire format.

Three wire types (varint, fixed64, length-delimited) are enough for the coordination service, so the daemon's image
needs neither protobuf nor generated code. The input is not trusted: every length is checked against the existing bytes,
a varint has at most ten bytes, and anything else raises `Malformed`. Format: protobuf.dev, "Encoding".

The coordination service has no authentication and no protection: a call with a version that it has not reached, a query
for a task id outside the job, or a heartbeat in the name of a task makes process 0 abort, and the job with it (seen on
jaxlib 0.4.35 to 0.12). Requests are therefore not built from parameters but chosen from a closed list:

- `Method` has the eight methods that only read; no other file of the package names a method.
- A request for changes needs a `Seen`: a version that this incarnation of the coordinator has reported itself.
- The older generations have no incarnation, so they are never asked for changes.
- Only task 0 is queried by itself: every job has it.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum

from muster.watchers.probes.bounded.channel import Channel

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_FIXED64 = struct.Struct("<Q")
_MAX_VARINT_BYTES = 10
_U64 = (1 << 64) - 1
_SIGN = 1 << 63


class Malformed(ValueError):
    """The bytes are not the expected message."""


def varint(value: int) -> bytes:
    """Return a signed or unsigned 64-bit integer as varint; negative numbers take ten bytes, as in protobuf."""
    value &= _U64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer_field(number: int, value: int) -> bytes:
    """Return field `number` of an integer type."""
    return varint(number << 3 | VARINT) + varint(value)


def fixed64_field(number: int, value: int) -> bytes:
    """Return field `number` of type fixed64."""
    return varint(number << 3 | FIXED64) + _FIXED64.pack(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """Return field `number` of type string, bytes or message."""
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def signed(value: int) -> int:
    """Return the int32 or int64 of an unsigned number on the wire."""
    return value - (1 << 64) if value & _SIGN else value


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned number at `at`, and the position behind it."""
    end = len(data)
    if at < end and data[at] < 0x80:  # nearly all numbers of a task list are small
        return data[at], at + 1
    value = shift = 0
    for position in range(at, min(end, at + _MAX_VARINT_BYTES)):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _U64:
                raise Malformed(f"varint at byte {at} exceeds 64 bits")
            return value, position + 1
        shift += 7
    raise Malformed(f"varint at byte {at} does not end")


def read_fixed64(data: bytes, at: int) -> tuple[int, int]:
    """Return the fixed64 at `at`, and the position behind it."""
    if at + 8 > len(data):
        raise Malformed(f"fixed64 at byte {at} is cut off")
    return _FIXED64.unpack_from(data, at)[0], at + 8


def read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the length-delimited value at `at`, and the position behind it."""
    length, at = read_varint(data, at)
    end = at + length
    if end > len(data):
        raise Malformed(f"value of {length} bytes at byte {at} is cut off")
    return data[at:end], end


def fields(data: bytes, most: int = 1 << 16) -> Iterator[tuple[int, int | bytes]]:
    """Yield each field of a message as (number, value), in the order of the wire; fields of type fixed32 are skipped.

    A message of more than `most` fields is `Malformed`: two million fit into an answer, and would take seconds.
    """
    at, end, count = 0, len(data), 0
    while at < end:
        count += 1
        if count > most:
            raise Malformed(f"the message has more than {most} fields")
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        value: int | bytes
        if kind == VARINT:
            value, at = read_varint(data, at)
        elif kind == BYTES:
            value, at = read_bytes(data, at)
        elif kind == FIXED64:
            value, at = read_fixed64(data, at)
        elif kind == FIXED32:
            at += 4
            if at > end:
                raise Malformed("fixed32 is cut off")
            continue
        else:
            raise Malformed(f"wire type {kind} of field {number} is not in use")
        yield number, value


_EVERYTHING_NOW = -1
"""The version that returns the full list at once, at any current version."""
_V1_JOB = b"jax_worker"


class Method(Enum):
    """The methods that read and have no effect. Source of the names: the descriptors embedded in jaxlib."""

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
    """A version of the task list, and the incarnation of the coordinator that reported it."""

    incarnation: int
    version: int


@dataclass(frozen=True, slots=True)
class Question:
    """One permitted call. Raises ValueError for parts that do not fit together."""

    method: Method
    incarnation: int = 0
    """v2: the expected incarnation of the coordinator; 0 makes the coordinator name its own."""
    seen: Seen | None = None
    """v2 WatchTasks: wait until the list has changed from this version; None asks for the present list."""
    key: str = ""
    """Key or directory of the key-value calls."""

    def __post_init__(self) -> None:
        """Refuse a combination that is not safe to send."""
        name = self.method.name
        if self.seen is not None:
            if self.method is not Method.V2_WATCH_TASKS:
                raise ValueError(f"{name} cannot wait for changes: only V2_WATCH_TASKS can")
            if self.seen.incarnation != self.incarnation or not self.incarnation:
                raise ValueError(f"{name}: version {self.seen.version} is of another incarnation of the coordinator")
        if self.incarnation and not name.startswith("V2"):
            raise ValueError(f"{name} has no incarnation")
        if bool(self.key) != name.endswith(("KEY_VALUE", "DIR")):
            raise ValueError(f"{name}: a key is needed by the key-value calls, and by no other")

    def encode(self) -> bytes:
        """Return the request's bytes."""
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


async def send(channel: Channel, question: Question, deadline: float = 0.0) -> bytes:
    """Send one question and return the raw answer; the only function that uses a channel.

    A call that waits for changes has no deadline: each one that is cancelled costs process 0 memory until its next
    change. Every other call has `deadline` seconds. Raises `NoAnswer` for every end but an answer.
    """
    patience = None if question.seen is not None else deadline
    return await channel.unary(question.method.value, question.encode(), patience)


class Generation(StrEnum):
    """A generation of the protocol, under its name in `RollAnswer.protocol`.

    It is negotiated. A coordinator answers UNIMPLEMENTED to a method that it does not know, which has no effect on the
    job. The probe tries the generations from the newest to the oldest and keeps the one that answers. After a restart
    of the coordinator, or when that one is refused, it tries all again: the new process 0 may have another jaxlib.
    """

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
        """The reason why the roll covers rank 0 only; empty if it covers all ranks."""
        return "this version of jax reports rank 0 only" if self is Generation.V1_RANK_ZERO else ""


LISTING = {
    Generation.V2: Method.V2_WATCH_TASKS,
    Generation.V1_WATCH: Method.V1_WATCH_JOB_STATE,
    Generation.V1_JOB: Method.V1_GET_JOB_STATE,
    Generation.V1_RANK_ZERO: Method.V1_GET_TASK_STATE,
}
"""The call that lists the tasks."""
