"""Decodes the answers of the coordination service.

One decoder serves all generations: the task list of v2 (`xla.coordination.TaskInfo`) and that of v1
(`tensorflow.CoordinatedTaskStateInfo`) differ only in field 1, which is the id itself in v2 and a message holding the
id as its field 2 in v1. Source: the descriptors embedded in jaxlib 0.4.35 to 0.12.

The list alone is ambiguous: a task that waits at the rendezvous and one that has left in good order are both
DISCONNECTED with an incarnation. The difference is whether that incarnation has been CONNECTED before, which a
`RollReader` remembers for one incarnation of the coordinator. A probe that starts late and has never seen the rank
connected reports `ARRIVED`; jax lets processes leave together, so this lasts no longer than the job's last second.
Source: cluster_register_with_barrier in openxla/xla coordination_service.cc, as jax always sets it.
"""

import re
from asyncio import Lock
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from muster.api.values.printable import printable
from muster.state.view.roll import RankError, RankState
from muster.state.view.turns import A_TURN, Turns, at_once, batches
from muster.watchers.probes.bounded.connection import in_turns
from muster.watchers.probes.jax.rpc import (
    Generation,
    Malformed,
    Seen,
    fields,
    read_bytes,
    read_fixed64,
    read_varint,
    signed,
)

MAX_TEXT = 1000
"""Most characters of a coordinator's text that are kept."""
MAX_TASK_ID = 1 << 20
MAX_TASKS = 1 << 14
"""A longer list is not one of a JAX job but an attempt to keep the daemon busy; it is decoded in turns."""
_MAX_FIELDS = 8
"""Most fields of one task, which has six."""

UNSPECIFIED, UNINITIALIZED, DISCONNECTED, CONNECTED, ERROR = range(5)
"""TaskState, with the same numbers in both generations."""

_MISMATCH_TYPE = b"type.googleapis.com/tensorflow.ServiceMismatchError"
_MISMATCH_TEXT = re.compile(r"wrong service incarnation: requested \d{1,20}, currently (\d{1,20})\b")
_USUAL_TASK = re.compile(
    rb"\x0a[\x00-\x7f](?:\x08([\x80-\xff]?)([\x00-\x7f]))?\x10([\x00-\x7f])((?:\x31.{8})?)", re.DOTALL
).match
"""A v2 task without an error, as protobuf writes it: id (to 16,383), state and incarnation, in this order."""

_U64 = (1 << 64) - 1


class Task(NamedTuple):
    """One entry of the task list."""

    state: int = UNSPECIFIED
    incarnation: int = 0
    code: int = 0
    text: bytes = b""


class TaskList(NamedTuple):
    """All tasks by id, and the version of the list (0 if the protocol has none)."""

    tasks: dict[int, Task]
    version: int


def most_tasks(expected: int | None) -> int:
    """Return the most entries of a list: decoding takes some milliseconds for a gang of 8, and a wrong count shows."""
    return MAX_TASKS if expected is None else min(MAX_TASKS, 512 + 2 * expected)


def tasks_in_turns(body: bytes, most: int = MAX_TASKS) -> Turns[TaskList]:
    """Return the answer to any of the calls that list tasks. Raises `Malformed`, also for more than `most` entries.

    Impossible ids are dropped; if an id is listed twice, the last entry stays. A task in its usual form is matched by
    one regular expression, which saves a third of the time with thousands of ranks; any other is read field by field.
    """
    tasks: dict[int, Task] = {}
    version = count = at = 0
    end = len(body)
    while at < end:
        count += 1
        if count % A_TURN == 0:
            yield
        if count > most + 1:  # 1: the version
            raise Malformed(f"the task list has more than {most} entries")
        usual = _USUAL_TASK(body, at)
        if usual is not None and usual.end() == at + 2 + body[at + 1]:
            low, last, state, incarnation = usual.groups()
            task_id = (low[0] & 0x7F | last[0] << 7 if low else last[0]) if last else 0
            task = Task(state[0], int.from_bytes(incarnation[1:], "little"))
            at = usual.end()
        else:
            tag, at = read_varint(body, at)
            if tag == 0x10:  # field 2, an int64: the version
                value, at = read_varint(body, at)
                version = signed(value)
                continue
            if tag != 0x0A:  # field 1, a message: one task
                raise Malformed(f"a task list has no field {tag >> 3} of wire type {tag & 7}")
            entry, at = read_bytes(body, at)
            task_id, task = _task(entry)
        if 0 <= task_id < MAX_TASK_ID:
            tasks[task_id] = task
    return TaskList(tasks, version)


def _task(body: bytes) -> tuple[int, Task]:
    task_id = state = incarnation = code = at = count = 0
    text = b""
    end = len(body)
    while at < end:
        count += 1
        if count > _MAX_FIELDS:
            raise Malformed(f"a task has more than {_MAX_FIELDS} fields")
        tag = body[at]
        at += 1
        if tag == 0x10:
            state, at = read_varint(body, at)
        elif tag == 0x08:
            task_id, at = read_varint(body, at)
        elif tag == 0x31:
            incarnation, at = read_fixed64(body, at)
        elif tag == 0x18:
            code, at = read_varint(body, at)
        elif tag == 0x22:
            text, at = read_bytes(body, at)
        elif tag == 0x0A:
            inner, at = read_bytes(body, at)
            task_id = _v1_task_id(inner)
        elif tag == 0x2A:  # error_payload: repeats the text
            _, at = read_bytes(body, at)
        else:
            raise Malformed(f"a task has no field {tag >> 3} of wire type {tag & 7}")
    return signed(task_id), Task(state, incarnation, signed(code), text)


def _v1_task_id(body: bytes) -> int:
    task_id = 0
    for number, value in fields(body, _MAX_FIELDS):
        if number == 2:
            task_id = value if isinstance(value, int) else -1
    return task_id


def read_entry(body: bytes) -> tuple[str, bytes]:
    """Return a KeyValueEntry as key and value. Raises `Malformed`."""
    key, content = b"", b""
    for number, value in fields(body, _MAX_FIELDS):
        if isinstance(value, int):
            raise Malformed(f"a key-value entry has no number in field {number}")
        if number == 1:
            key = value
        elif number == 2:
            content = value
    return key.decode("utf-8", errors="replace"), content


def entries_in_turns(body: bytes, field: int, most: int = MAX_TASKS) -> Turns[dict[str, bytes]]:
    """Return the entries in field `field` of an answer: 1 for TryGetKeyValue, 2 for GetKeyValueDir.

    Raises `Malformed`, also for more than `most` entries.
    """
    entries: dict[str, bytes] = {}
    for count, (number, value) in enumerate(fields(body, most + 1), 1):  # 1: the directory's name
        if count % A_TURN == 0:
            yield
        if number == field:
            if isinstance(value, int):
                raise Malformed(f"field {number} is not a key-value entry")
            key, content = read_entry(value)
            entries[key] = content
    return entries


read_entries = at_once(entries_in_turns)


def read_mismatch(text: str, status_details: bytes) -> int | None:
    """Return the coordinator's incarnation, from its refusal of a wrong one; None for any other refusal.

    The number is in the trailing metadata `grpc-status-details-bin` (a `GrpcPayloadContainer`, whose map holds a
    `ServiceMismatchError`) and in the text; the text is used if a proxy has dropped the metadata.
    """
    try:
        for _, payload in fields(status_details):
            if isinstance(payload, bytes):
                entry = dict(fields(payload))
                if entry.get(1) == _MISMATCH_TYPE and isinstance(content := entry.get(2), bytes):
                    return _identity(dict(fields(content)).get(1))
    except Malformed:
        pass  # use the text
    found = _MISMATCH_TEXT.search(text[:1000])
    return _identity(int(found[1])) if found else None


def _identity(value: int | bytes | None) -> int | None:
    return value if isinstance(value, int) and 0 < value <= _U64 else None


MAX_ERRORS = 16
_NAMED = 8


@dataclass(frozen=True, slots=True)
class TaskReading:
    """One decoded task list."""

    ranks: tuple[RankState, ...]
    errors: tuple[RankError, ...]
    expected: int | None
    stray: int
    """Number of entries with an impossible id."""


@dataclass(slots=True)
class RollReader:
    """The reader of the task lists of one incarnation of the coordinator, which keeps what they have shown."""

    incarnation: int | None = None
    """The incarnation; None for generations without one."""
    seen: Seen | None = None
    """The newest reported version, to ask for later changes; None for generations that cannot report changes."""
    most: int = MAX_TASKS
    """Most entries of a list."""
    _connected: dict[int, int] = field(default_factory=dict)
    """The incarnation of each rank that was last seen connected."""
    _reading: Lock = field(default_factory=Lock)
    _last: tuple[bytes, TaskReading] | None = None
    """The digest of the last answer, which itself may have megabytes, and its reading."""

    async def take(self, body: bytes, generation: Generation) -> TaskReading:
        """Read one answer after the other, in the order of their arrival. Raises `Malformed`."""
        async with self._reading:
            return await in_turns(self.read_in_turns(body, generation))

    def read_in_turns(self, body: bytes, generation: Generation) -> Turns[TaskReading]:
        """Decode one answer. Raises `Malformed`.

        The same bytes as last time give the same `Reading` without decoding.
        """
        digest = sha256(body).digest()
        if self._last is not None and self._last[0] == digest:
            return self._last[1]
        yield
        listed = yield from tasks_in_turns(body, self.most)
        if generation is Generation.V2 and self.incarnation is not None and listed.version >= 0:
            self.seen = Seen(self.incarnation, listed.version)
        reading = yield from self._decode(listed, generation)
        self._last = (digest, reading)
        return reading

    def _decode(self, listed: TaskList, generation: Generation) -> Turns[TaskReading]:
        if generation is Generation.V1_RANK_ZERO:
            # Process 0 registers with its own service at once; before 0.5.3 a registered task has no incarnation.
            task = listed.tasks.get(0, Task())
            state = self._state(0, task._replace(incarnation=1) if task.state == DISCONNECTED else task)
            return TaskReading((state,), _errors(listed, (state,)), None, len(listed.tasks) - 1)
        # A coordinator lists ids 0 to n-1; an id beyond the number of entries is not one of them.
        count = len(listed.tasks)
        absent = Task()
        states: list[RankState] = []
        for batch in batches(range(count)):
            states += [self._state(rank, listed.tasks.get(rank, absent)) for rank in batch]
            yield
        ranks = tuple(states)
        stray = sum(1 for task_id in listed.tasks if task_id >= count)
        yield
        return TaskReading(ranks, _errors(listed, ranks), count, stray)

    def _state(self, rank: int, task: Task) -> RankState:
        if task.state == CONNECTED:
            self._connected[rank] = task.incarnation
            return RankState.CONNECTED
        if task.state == ERROR:
            return RankState.FAILED
        if task.state == DISCONNECTED and task.incarnation:
            return RankState.LEFT if self._connected.get(rank) == task.incarnation else RankState.ARRIVED
        return RankState.MISSING


def _errors(listed: TaskList, ranks: tuple[RankState, ...]) -> tuple[RankError, ...]:
    """Return at most `MAX_ERRORS`: first one rank per distinct text, as one text among thousands names the cause."""
    failed = [rank for rank, state in enumerate(ranks) if state is RankState.FAILED]
    first = {listed.tasks[rank].text: rank for rank in reversed(failed)}
    chosen = sorted(failed, key=lambda rank: first[listed.tasks[rank].text] != rank)[:MAX_ERRORS]
    return tuple(
        RankError(rank, _code(listed.tasks[rank].code), printable(listed.tasks[rank].text, MAX_TEXT)) for rank in chosen
    )


def _code(code: int) -> int:
    return code if 0 <= code < 1 << 31 else 2  # 2: UNKNOWN


def summary(reading: TaskReading, asked: int | None) -> str:
    """Return the roll in one line. `asked` is the number of processes the experiment has."""
    ranks = reading.ranks
    if reading.expected is None:
        return f"rank 0: {ranks[0]}; this version of jax does not report the other ranks"
    missing = [rank for rank, state in enumerate(ranks) if state is RankState.MISSING]
    failed = [rank for rank, state in enumerate(ranks) if state is RankState.FAILED]
    parts = [f"{len(ranks) - len(missing)}/{len(ranks)} ranks arrived"]
    parts += [_named("missing", missing)] if missing else []
    parts += [_named("failed", failed)] if failed else []
    if asked is not None and asked != reading.expected:
        parts.append(
            f"process count mismatch: process 0 was started with {reading.expected}, the experiment has {asked}"
        )
    if reading.stray:
        parts.append(f"{reading.stray} entries with an impossible rank were dropped")
    return "; ".join(parts)


def _named(what: str, ranks: list[int]) -> str:
    rest = f" and {len(ranks) - _NAMED} more" if len(ranks) > _NAMED else ""
    return f"{what} rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks[:_NAMED]))}{rest}"
