"""Traces of JobSet's own controller, replayed: the same pods under Muster's decisions give the same status.

Compared are the turns of conditions with reasons and messages in their order, the counters in their order, the most of
each count, and the last status as a whole. Left out is what JobSet's controller shows only because Jobs follow their
pods later: counts between, and the conditions of InOrder that turn back and forth between the end of the last pod and
that of its Job.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW
from tests.kinds.jobset.lives.cluster import Cluster

TRACES = sorted((Path(__file__).parent / "golden").glob("*.json"))


def play(trace: dict[str, Any]) -> tuple[Cluster, list[dict[str, Any]]]:
    """Play the pods and the edits of a trace; the statuses of the controller."""
    metadata = {"name": "t", "namespace": "default", "uid": "uid-JobSet-t", "generation": 1}
    seen = Cluster({"metadata": metadata, "spec": trace["spec"]})
    theirs: list[dict[str, Any]] = []
    for event in trace["events"]:
        seen.now = NOW + event["t"]
        if "status" in event:
            theirs.append(event["status"])
        elif "edit" in event:
            seen.edit(**event["edit"])
        else:
            seen.follow(event["pod"])
            seen.step()
    return seen, theirs


def turns(history: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Each turn of a condition once, in order."""
    found = (
        (each["type"], each["status"], each["reason"], each["message"])
        for status in history
        for each in status.get("conditions", ())
    )
    return list(dict.fromkeys(found))


def counters(history: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The counters and the end, each value once, in order."""
    names = ("restarts", "restartsCountTowardsMax", "terminalState")
    return list(dict.fromkeys(tuple(status.get(name) for name in names) for status in history))


def most(history: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    """The highest of each count of a replicated job: ready falls back to 0 before its Job ends."""
    found: dict[tuple[str, str], int] = {}
    for row in (row for status in history for row in status["replicatedJobsStatus"]):
        for name, number in row.items():
            if name != "name":
                found[row["name"], name] = max(found.get((row["name"], name), 0), number)
    return found


def bare(status: dict[str, Any]) -> dict[str, Any]:
    rows = [{name: row[name] for name in row if name != "lastTransitionTime"} for row in status["conditions"]]
    return {**status, "conditions": rows}


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_the_status_is_that_of_the_controller(path: Path) -> None:
    seen, theirs = play(json.loads(path.read_text(encoding="utf-8")))
    assert turns(seen.history) == turns(theirs)
    assert counters(seen.history) == counters(theirs)
    assert most(seen.history) == most(theirs)
    assert bare(seen.status) == bare(theirs[-1])
