"""Reads the answers of Ray's dashboard: the list of nodes, the version, a job and the progress of its tasks.

Each is decoded into the few used fields, with their types; anything else is skipped. Sources: Ray 2.60,
``python/ray/util/state/common.py`` (NodeState), ``dashboard/modules/job/pydantic_models.py`` (JobDetails), and the
bodies recorded in tests/watchers/probes/ray/bodies.json.
"""

import ipaddress
from collections.abc import Callable
from hashlib import sha256
from typing import Generic, NamedTuple, TypeVar

import msgspec

from muster.api.values.printable import bare, printable
from muster.state.view.roll import Work
from muster.state.view.turns import A_TURN, Turns
from muster.watchers.probes.bounded.connection import MOST_PARTS, parts_of
from muster.watchers.probes.bounded.http import Asker

MAX_NODES = 10_000
"""Most nodes in the dashboard's list (RAY_MAX_LIMIT_FROM_API_SERVER)."""
MOST_OBJECTS = 8 * MAX_NODES
"""Most objects of a list: each node is three, itself, its labels and its resources."""
NODES = f"/api/v0/nodes?limit={MAX_NODES}"
VERSION = "/api/version"
JOBS = "/api/jobs/"
GCS_HEALTH = "/api/gcs_healthz"
AGENT_HEALTH = "/api/healthz"

ALIVE = "ALIVE"
ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
MAX_TEXT = 300
LOGS_FOLLOW = ", last available logs (truncated to 20,000 chars):"
"""End of the first line of a failed job's message; the lines after it are the log."""

T = TypeVar("T")


class Unreadable(ValueError):
    """The answer does not have the form of Ray's."""


class Node(NamedTuple):
    """One Ray node."""

    ip: str
    alive: bool
    head: bool
    group: str
    why: str
    """Ray's message about the end of a dead node."""
    stale: bool = False
    """True if its own agent shows that it belongs to a GCS that is gone."""


WRONG_CLUSTER = b"WrongClusterID"
"""Part of the answer of an agent whose node belongs to a GCS that is gone (gRPC status of ray: src/ray/gcs)."""


class _Labels(msgspec.Struct):
    """The only label that is used: all labels of 10,000 nodes take 10 MB."""

    group: str = msgspec.field(default="", name="ray.io/node-group")


class _Node(msgspec.Struct):
    node_ip: str
    state: str
    is_head_node: bool = False
    state_message: str | None = None
    labels: _Labels | None = None


class _Result(msgspec.Struct, Generic[T]):
    result: T
    total: int = 0


class _Data(msgspec.Struct, Generic[T]):
    result: _Result[T]


class _Answer(msgspec.Struct, Generic[T]):
    data: _Data[T]


class _Version(msgspec.Struct):
    session_name: str = ""


class _Job(msgspec.Struct):
    status: str
    message: str | None = None
    error_type: str | None = None
    driver_exit_code: int | None = None


def nodes_in_turns(body: bytes | bytearray) -> Turns[tuple[list[Node], int]]:
    """Return the nodes, and their number in all. Among nodes with one address, a living one counts.

    Raises ``Unreadable``.
    """
    if body.count(b"{") > MOST_OBJECTS:
        raise Unreadable(f"the answer has more than {MOST_OBJECTS:,} objects")
    page = _decode(body, _Answer[list[_Node]]).data.result
    found: dict[str, Node] = {}
    for count, node in enumerate(page.result):
        if count % A_TURN == 0:
            yield
        ip = _address(node.node_ip)
        alive = node.state == ALIVE
        if ip and (alive or ip not in found):
            group = node.labels.group if node.labels is not None else ""
            found[ip] = Node(
                ip, alive, node.is_head_node, bare(group, 63), printable(node.state_message or "", MAX_TEXT)
            )
    return list(found.values()), page.total


def read_session(body: bytes | bytearray) -> int | None:
    """Return a number for this life of the GCS, which gives each session its own name. Raises ``Unreadable``."""
    name = _decode(body, _Version).session_name
    return int.from_bytes(sha256(name.encode()).digest()[:7]) if name else None


def read_job(body: bytes | bytearray, name: str) -> Work:
    """Return the job of that name. Raises ``Unreadable``."""
    job = _decode(body, _Job)
    first = printable((job.message or "").partition("\n")[0].removesuffix(LOGS_FOLLOW), MAX_TEXT)
    ended = job.status in ENDED
    if job.status == "RUNNING":
        first = ""  # "Job is currently running."
    if ended and job.error_type:
        code = "" if job.driver_exit_code is None else f", exit code {job.driver_exit_code}"
        first = f"{first} ({bare(job.error_type, 63)}{code})"
    return Work(name, bare(job.status, 63), first, ended)


def _address(text: str) -> str:
    """Return the text if it is an IP address, as Kubernetes writes it; else an empty text."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def _decode(body: bytes | bytearray, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"the answer cannot be read: {printable(str(error), 100)}") from None


SUMMARY = "/api/v0/tasks/summarize"
PACE = 60.0
LOAD = 0.005
REST = 600.0
MOST_BYTES = 1 << 20
"""Most bytes of a summary: a name of a task takes about 200 bytes."""
FINISHED, FAILED, RUNNING = "FINISHED", "FAILED", "RUNNING"


class _Tasks(msgspec.Struct):
    state_counts: dict[str, int] = {}


class _Cluster(msgspec.Struct):
    summary: dict[str, _Tasks] = {}


class _ByNode(msgspec.Struct):
    node_id_to_summary: dict[str, _Cluster]


class TaskCounter:
    """The task counts of one dashboard, as of the last answer, asked so rarely that the dashboard's load stays small.

    ``/api/v0/tasks/summarize`` makes the dashboard read up to 10,000 tasks from the GCS: 0.4 to 1.8 s of its CPU with
    1,000 tasks, while the list of nodes takes two milliseconds (Ray 2.60, ADR 55). So it is asked while the job runs,
    after the roll and never beside it, and at most once in ``PACE`` seconds. A slow answer delays the next question, so
    that the dashboard spends ``LOAD`` of its time on it; no answer, or an unreadable one, delays it by ``REST``
    seconds.
    """

    def __init__(self, ask: Asker, port: int, clock: Callable[[], float]) -> None:
        self._ask, self._port, self._clock = ask, port, clock
        self._due = 0.0
        self.sentence = ""
        """``640 of 1,000 tasks finished, 12 running, 3 failed``; empty before the first answer."""

    def forget(self) -> None:
        """Forget the counts, because of another GCS or another job."""
        self.sentence = ""

    async def look(self) -> None:
        """Ask if it is time to. Raises nothing."""
        began = self._clock()
        if began < self._due:
            return
        self._due = began + REST
        reply = await self._ask.get(self._port, SUMMARY, most=MOST_BYTES)
        if not reply.good or parts_of(reply.body) > MOST_PARTS:
            return
        try:
            self.sentence = read_tasks(reply.body)
        except Unreadable:
            return
        now = self._clock()
        self._due = now + max(PACE, (now - began) / LOAD)


def read_tasks(body: bytes | bytearray) -> str:
    """Return how many tasks there are, and how many have finished. Raises ``Unreadable``."""
    answer = _decode(body, _Answer[_ByNode]).data.result
    counts: dict[str, int] = {}
    for cluster in answer.result.node_id_to_summary.values():
        for tasks in cluster.summary.values():
            for state, count in tasks.state_counts.items():
                counts[state] = counts.get(state, 0) + max(0, count)
    counted = sum(counts.values())
    if not counted:
        return ""
    cut = f" of {answer.total:,}, the others are not counted" if answer.total > counted else ""
    parts = [f"{counts.get(FINISHED, 0):,} of {counted:,} tasks finished{cut}"]
    parts += [f"{counts[state]:,} {state.lower()}" for state in (RUNNING, FAILED) if counts.get(state)]
    return ", ".join(parts)
