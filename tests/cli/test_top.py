"""``muster top``: the most urgent comes first."""

import json

from muster.cli.commands.several.listing import places
from muster.cli.commands.several.top import lines, worst_first
from muster.client.snapshot import Snapshot, snapshot_of
from muster.state.summary.hurt import RECENT, Hurt
from tests.cli.conftest import Call
from tests.client.localserver import LocalServer

NOW = 1_000_000_000.0
STAMP = "2001-09-09T01:46:30Z"
"""10 s before ``NOW``."""


def seen(name: str, **status: object) -> Snapshot:
    meta = {"namespace": "team", "name": name, "uid": name, "creationTimestamp": STAMP}
    usual = {"phase": "Running", "phaseTime": STAMP, "size": 4}
    return snapshot_of({"metadata": meta, "spec": {"operator": "jax"}, "status": usual | status})


def stuck(reason: str) -> dict[str, object]:
    return {"conditions": [{"type": "Stuck", "status": "True", "reason": reason, "lastTransitionTime": STAMP}]}


ROLL = {"arrived": 3, "expected": 4, "missing": [2]}
EXAMPLES = {
    "hung": seen("hung", **stuck("Hung")),
    "stuck": seen("stuck", phase="Assembling", **stuck("RanksMissing")),
    "missing": seen("missing", phase="Assembling", roll=ROLL),
    "restarting": seen("restarting", phase="Restarting"),
    "deadline": seen("deadline", deadline="2001-09-09T01:47:00Z"),
    "failed": seen("failed", phase="Failed", finishTime=STAMP),
    "queued": seen("queued", phase="Queued"),
    "well": seen("well"),
}


def test_what_hurts_most_comes_first() -> None:
    found = worst_first(reversed(EXAMPLES.values()), NOW, over=False)
    assert [each.name for each in found] == [*Hurt, "well"]


def test_one_that_is_over_is_left_out_unless_it_failed_within_a_day() -> None:
    over = [seen("done", phase="Succeeded", finishTime=STAMP), EXAMPLES["failed"]]
    assert [each.name for each in worst_first(over, NOW, over=False)] == ["failed"]
    assert worst_first(over, NOW + RECENT, over=False) == []
    assert [each.name for each in worst_first(over, NOW + RECENT, over=True)] == ["done", "failed"]


def test_the_table_names_what_it_waits_for() -> None:
    waiting = seen("train", phase="Assembling", roll=ROLL, message="3/4 ranks arrived; missing rank 2")
    count, heading, row = lines([waiting], NOW)
    assert count == "1 experiment, 1 with a problem"
    assert heading.split()[:4] == ["NAME", "PROBLEM", "PHASE", "FOR"]
    assert "ranks missing" in row
    assert row.endswith("3/4 ranks arrived; missing rank 2")


def test_a_hostile_message_does_not_drive_the_terminal() -> None:
    [_, _, row] = lines([seen("train", message="a\x1b[2J\nb")], NOW, places(True))
    assert "\x1b[2J" not in row


def test_elsewhere_than_on_a_terminal_it_is_printed_once(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Restarting", message="1 pod of an older epoch ends")
    result = call("top")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "1 experiment, 1 with a problem"
    assert result.stdout.splitlines()[2].split()[:3] == ["mine", "restarting", "Restarting"]
    assert [item["metadata"]["name"] for item in json.loads(call("top", "-o", "json").stdout)["items"]] == ["mine"]
    assert call("top", "-o", "name").stdout == "mine\n"


def test_without_experiments_it_says_so(call: Call, server: LocalServer) -> None:
    assert call("top").stdout == "no experiments in this namespace; -A looks in all\n"


def test_those_that_are_over_are_counted_where_nothing_else_is_left(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Succeeded")
    assert call("top").stdout == "no experiment is under way; 1 over, which --all shows\n"
    assert call("top", "--all").stdout.startswith("1 experiment, none with a problem\n")


def test_objects_of_another_kind_are_not_called_experiments(call: Call, server: LocalServer) -> None:
    assert call("top", "--kind", "pods").stdout == "no runs of kind pods in this namespace; -A looks in all\n"
    assert lines([seen("pods/train")], NOW, kind="pods")[0] == "1 run of kind pods, none with a problem"
