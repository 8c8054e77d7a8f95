"""``muster explain --epoch``: what was known of an epoch that is over."""

import json
from typing import Any

import pytest

from muster.api.status import STORY_LINES
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import LocalServer, ended, labels, running

EVIDENCE: dict[str, Any] = {"epoch": 1, "phase": "Running", "next": "Restarting", "reason": "ProgressDeadlineExceeded"}
EVIDENCE |= {"beganTime": "2026-01-01T00:00:00.000000Z", "time": "2026-01-01T00:10:00.000000Z"}
EVIDENCE |= {"how": "no sign of progress within 5 m", "waitedFor": "no step since then"}
EVIDENCE |= {"stuck": "Hung", "stuckTime": "2026-01-01T00:06:00.000000Z"}
EVIDENCE |= {
    "stuckBy": "rank 1 is in next (data.py:41)\n\x1b[31m",
    "roll": {"expected": 2, "arrived": 2, "missing": []},
    "places": "rank 1 is in next (data.py:41); the other rank is in all_reduce (train.py:88)",
    "findings": [{"cause": "Hung", "sentence": "rank 1: in next", "evidence": "it stands", "ranks": "1", "count": 1}],
    "stacks": [{"rank": 1, "calls": "next (data.py:41), main (train.py:9)"}],
}
STATUS: dict[str, Any] = {"phase": "Running", "epoch": 2, "size": 2, "evidence": [EVIDENCE]}
STORY = [
    {"time": "2026-01-01T00:06:00Z", "epoch": 1, "reason": "Hung", "message": "it hangs", "warning": True},
    {"time": "2026-01-01T00:11:00Z", "epoch": 2, "reason": "GangRestart", "message": "again", "warning": False},
]


def test_an_epoch_that_is_over_is_explained_as_it_was(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, **STATUS, story=STORY)
    server.pod("old-1", labels(mine, 1, epoch=1), prints=("last of the old",), **ended(1))
    server.pod("new-1", labels(mine, 1, epoch=2), prints=("last of the new",), **running())
    shown = call("explain", mine, "--epoch", 1).stdout
    assert shown.startswith("Epoch 1: Running until 2026-01-01T00:10:00Z, 10m after it began\n")
    assert "Then:        Restarting, ProgressDeadlineExceeded\n" in shown
    assert "Stuck:       Hung for 4m: rank 1 is in next (data.py:41) \ufffd[31m\n" in shown
    assert "Places:      rank 1 is in next (data.py:41); the other rank is in all_reduce (train.py:88)\n" in shown
    assert "  rank 1: in next  (Hung)\n    seen: it stands\n" in shown
    assert "  rank 1: next (data.py:41), main (train.py:9)\n" in shown
    assert "last of the old" in shown
    assert "it hangs" in shown
    for later in ("last of the new", "again"):
        assert later not in shown
    written = json.loads(call("explain", mine, "--epoch", 1, "-o", "json").stdout)
    assert written["evidence"]["findings"] == EVIDENCE["findings"]
    assert [line["text"] for line in written["lastLines"]] == ["last of the old"]


def test_stacks_are_shown_with_all_ranks_that_have_them(call: Call, server: LocalServer, mine: str) -> None:
    rows = [
        {"rank": 7, "calls": "\x1b[31mnext (data.py:41)\r\nrank 8: x", "ranks": "7", "count": 1},
        {"rank": 0, "calls": "all_reduce (train.py:88)", "ranks": "0-6,8-9", "count": 9},
        {"rank": 11, "calls": "wait (train.py:99)", "ranks": "11,13,15", "count": 40},
        {"rank": 10, "calls": "", "ranks": "10,12", "count": 2},
        {"rank": 9, "calls": "of a daemon that wrote no ranks (a.py:1)"},
    ]
    server.status(mine, **STATUS | {"evidence": [EVIDENCE | {"stacks": rows}]})
    shown = call("explain", mine, "--epoch", 1).stdout
    assert shown.partition("Stacks, the innermost call first:\n")[2].splitlines()[:5] == [
        "  rank 7: \ufffd[31mnext (data.py:41)  rank 8: x",
        "  9 ranks (0-6, 8-9): all_reduce (train.py:88)",
        "  40 ranks (11, 13, 15, …): wait (train.py:99)",
        "  2 ranks (10, 12): other stacks, or none",
        "  rank 9: of a daemon that wrote no ranks (a.py:1)",
    ]


def test_an_unknown_epoch_is_an_error_that_names_those_that_are_kept(
    call: Call, server: LocalServer, mine: str
) -> None:
    server.status(mine, phase="Running", epoch=2)
    none = "no epoch is kept that ended without success; epoch 2 is the latest"
    assert none in stderr_of(call, 1, "explain", mine, "--epoch", 1)
    server.status(mine, **STATUS)
    error = stderr_of(call, 1, "explain", mine, "--epoch", 0)
    assert "nothing is known of epoch 0: epoch 1 ended without success and is kept; epoch 2 is the latest" in error
    server.status(mine, **STATUS | {"evidence": [EVIDENCE | {"epoch": epoch} for epoch in (3, 4, 5)], "epoch": 6})
    assert "epochs 3, 4 and 5 ended without success and are kept" in call("explain", mine, "--epoch", 9).stderr


def test_the_latest_epoch_is_explained_as_ever(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, **STATUS)
    shown = call("explain", mine, "--epoch", 2).stdout
    assert "Earlier:     epoch 1 ended without success and is kept; epoch 2 is the latest (--epoch N)\n" in shown
    assert "Epoch 1:" not in shown


@pytest.mark.parametrize("lines", [STORY_LINES - 1, STORY_LINES])
def test_a_story_that_may_have_lost_lines_has_a_mark_where_they_were(
    call: Call, server: LocalServer, mine: str, lines: int
) -> None:
    story = [{"time": "2026-01-01T00:06:00Z", "epoch": 1, "reason": "Hung", "message": f"n{n}."} for n in range(lines)]
    server.status(mine, **STATUS, story=story)
    shown = call("explain", mine).stdout
    before, _, after = shown.partition(f"a status keeps {STORY_LINES} lines: some between these may be dropped")
    assert bool(after) == (lines == STORY_LINES)
    assert not after or ("n7." in before and "n8." in after)
