"""The recorded runs of KubeRay: what its objects became, and what Ray's endpoints answered, on one clock."""

import asyncio
import gzip
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.http import Asker, Reply
from muster.watchers.probes.ray.answers import JOBS, NODES, VERSION

FOLDER = Path(__file__).parent / "traces"
LIMIT = 2.0
"""Seconds after which the recorder, as the daemon's probe, gave a request up."""
BEGAN = 2.0
"""What was answered before that second was so from the beginning: the recorder asks once a second."""
_PATHS = {NODES: "/api/v0/nodes", VERSION: VERSION}


class Change(NamedTuple):
    """What the API server's watch brought."""

    at: float
    type: str
    kind: str
    object: dict[str, Any]


class Answer(NamedTuple):
    """What an endpoint answered to what it was asked from then on."""

    at: float
    ip: str
    path: str
    status: int | str
    digest: Any


class Recorded(NamedTuple):
    """One scenario. ``marks`` is what its script did, and when."""

    name: str
    changes: tuple[Change, ...]
    answers: tuple[Answer, ...]
    marks: tuple[tuple[float, str], ...]

    def of(self, kind: str) -> Iterator[Change]:
        """The changes of objects of that kind."""
        return (change for change in self.changes if change.kind == kind)

    def mark(self, text: str) -> float:
        """When the script did what begins so."""
        return next(at for at, note in self.marks if note.startswith(text))


def names() -> list[str]:
    """The names of all scenarios."""
    return sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))


@lru_cache
def recorded(name: str) -> Recorded:
    """The scenario whose name begins so (``c1`` of ``c1-head-container-killed``)."""
    (path,) = FOLDER.glob(f"{name}-*.jsonl.gz")
    changes, answers, marks = [], [], []
    specs: dict[str, Any] = {}
    for line in gzip.decompress(path.read_bytes()).splitlines():
        row = json.loads(line)
        at = row["t"] / 1_000
        if "who" in row:
            asked = at - row["ms"] / 1_000
            answers.append(Answer(asked, row["ip"], row["get"], row["status"], row["digest"]))
        elif row["type"] == "MARK":
            marks.append((at, row["note"]))
        else:
            found = row["object"]
            if "spec" in found:
                uid = found["metadata"]["uid"]
                specs[uid] = found["spec"] = specs[uid] if found["spec"] == "=" else found["spec"]
            changes.append(Change(at, row["type"], row["kind"], found))
    return Recorded(path.name.removesuffix(".jsonl.gz"), tuple(changes), tuple(answers), tuple(marks))


class RecordedRay(Asker):
    """The way to recorded endpoints, for the real probe. ``began`` is the loop's second at which the scenario began."""

    def __init__(self, scenario: Recorded, host: str, began: float) -> None:
        self._host, self._began = host, began
        self._answers: dict[tuple[str, str], list[Answer]] = {}
        for answer in scenario.answers:
            self._answers.setdefault((answer.ip, answer.path), []).append(answer)

    async def accepts(self, port: int) -> bool:
        """No connection was recorded."""
        return False

    async def get(self, port: int, path: str, *, host: str = "", most: int = 0) -> Reply:
        """What was answered at this second of the scenario."""
        now = asyncio.get_running_loop().time() - self._began
        job = path.removeprefix(JOBS) if path.startswith(JOBS) else ""
        asked = f":{port}{JOBS if job else _PATHS.get(path, path)}"
        known = self._answers.get((host or self._host, asked), [])
        answer = next((each for each in reversed(known) if each.at <= now), None)
        if answer is None and known and known[0].at < BEGAN:
            answer = known[0]
        if answer is None or answer.status == "ClientConnectorError":
            return Reply(0, state=CoordinatorState.REFUSED, detail=f"port {port}: connection refused")
        if answer.status == "timeout":
            await asyncio.sleep(LIMIT)
            return Reply(0, state=CoordinatorState.TIMEOUT, detail=f"port {port}: no answer within {LIMIT:g} s")
        return _reply(answer, path, job)


def _reply(answer: Answer, path: str, job: str) -> Reply:
    assert isinstance(answer.status, int)
    body: Any = answer.digest
    if answer.status == 200 and path == NODES:
        body = {"data": {"result": {"total": len(body), "result": [_node(row) for row in body]}}}
    elif answer.status == 200 and path == VERSION:
        body = {"ray_version": body[0], "session_name": body[1]}
    elif answer.status == 200 and job:
        found = next((row for row in body if row[0] == job), None)
        if found is None:
            return Reply(404, b"Job does not exist")
        body = {"status": found[2], "message": found[3], "error_type": found[4], "driver_exit_code": found[5]}
    return Reply(answer.status, (body if isinstance(body, str) else json.dumps(body)).encode())


def _node(row: list[Any]) -> Mapping[str, Any]:
    ip, head, state, why, node_id, labels = row
    return {
        "node_ip": ip, "is_head_node": head, "state": state, "state_message": why, "node_id": node_id, "labels": labels,
    }  # fmt: skip
