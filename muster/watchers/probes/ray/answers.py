"""Reads the answers of Ray's dashboard: the list of nodes, the version, a job.

Each is decoded into the few fields that are used, with their types; anything else in it is skipped. Sources: Ray 2.60,
``python/ray/util/state/common.py`` (NodeState), ``dashboard/modules/job/pydantic_models.py`` (JobDetails), and the
bodies recorded in tests/watchers/probes/ray/bodies.json.
"""

import ipaddress
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import msgspec

from muster.api.values.printable import bare, printable
from muster.state.view.roll import Work
from muster.state.view.turns import A_TURN, Turns, at_once

MAX_NODES = 10_000
"""What the dashboard lists at most (RAY_MAX_LIMIT_FROM_API_SERVER)."""
MOST_OBJECTS = 8 * MAX_NODES
"""Each node is three: itself, its labels, its resources."""
NODES = f"/api/v0/nodes?limit={MAX_NODES}"
VERSION = "/api/version"
JOBS = "/api/jobs/"
GCS_HEALTH = "/api/gcs_healthz"
AGENT_HEALTH = "/api/healthz"

ALIVE, DEAD = "ALIVE", "DEAD"
ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
MAX_TEXT = 300
LOGS_FOLLOW = ", last available logs (truncated to 20,000 chars):"
"""End of the first line of a failed job's message; the lines after it are the log."""

T = TypeVar("T")


class Unreadable(ValueError):
    """The answer is not what Ray answers."""


class Node(NamedTuple):
    """One Ray node."""

    ip: str
    alive: bool
    head: bool
    group: str
    why: str
    """Of a dead node: what Ray says of its end."""
    stale: bool = False
    """It belongs to a GCS that is gone, by its own agent."""


WRONG_CLUSTER = b"WrongClusterID"
"""In the answer of an agent whose node belongs to a GCS that is gone (gRPC status of ray: src/ray/gcs)."""


class _Labels(msgspec.Struct):
    """The one that is used: all labels of 10,000 nodes take 10 MB."""

    group: str = msgspec.field(default="", name="ray.io/node-group")


class _Node(msgspec.Struct):
    node_ip: str
    state: str
    is_head_node: bool = False
    state_message: str | None = None
    labels: _Labels | None = None


class _Page(msgspec.Struct):
    result: list[_Node]
    total: int = 0


class _Data(msgspec.Struct):
    result: _Page


class _Nodes(msgspec.Struct):
    data: _Data


class _Version(msgspec.Struct):
    session_name: str = ""


class _Job(msgspec.Struct):
    status: str
    message: str | None = None
    error_type: str | None = None
    driver_exit_code: int | None = None


def nodes_in_turns(body: bytes | bytearray) -> Turns[tuple[list[Node], int]]:
    """Return the nodes, and how many there are in all. Of several nodes with one address, a living one counts.

    Raises ``Unreadable``.
    """
    if body.count(b"{") > MOST_OBJECTS:
        raise Unreadable(f"the answer has more than {MOST_OBJECTS:,} objects")
    page = _decode(body, _Nodes).data.result
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


read_nodes = at_once(nodes_in_turns)


def read_session(body: bytes | bytearray) -> int | None:
    """Return a number for this life of the GCS, which gives each session a name of its own. Raises ``Unreadable``."""
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
    return Work(name, bare(job.status, 63), first, ended, job.status == "SUCCEEDED")


def _address(text: str) -> str:
    """Return the text if it is an IP address, as Kubernetes writes it; else nothing."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def _decode(body: bytes | bytearray, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        shown: Any = printable(str(error), 100)
        raise Unreadable(f"the answer cannot be read: {shown}") from None
