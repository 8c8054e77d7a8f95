"""Ranks that log the same share a row; the one that has been silent the longest comes first."""

import json

import pytest

from muster.client import LastLine
from muster.client.explaining.lines import ROWS, rows
from tests.cli.conftest import Call
from tests.client.localserver import LocalServer, ended, labels, running

NOW = 1_000.0


def line(rank: int, text: str, ago: float | None = 5.0, code: int | None = None, unread: str = "") -> LastLine:
    return LastLine(rank, f"p{rank}", code, None if ago is None else NOW - ago, text, unread)


STEPS = [line(rank, f"step {100 + rank} loss 0.{rank}", 2.0 + rank) for rank in (0, 1, 2, 4, 5)]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (
            [*STEPS, line(3, "reading shard 12 of 64", 2_400.0)],
            [
                "rank 3                     40m ago       reading shard 12 of 64",
                "rank 5 (and 0-2, 4 alike)  2s to 7s ago  step 105 loss 0.5",
            ],
        ),
        (
            [line(rank, f"rank {rank} done", code=0) for rank in range(3)],
            ["rank 0 (and 1-2 alike)  5s ago  (exit code 0)  rank 0 done"],
        ),
        ([line(rank, "done") for rank in range(3)], ["ranks 0-2  5s ago  done"]),
        (
            [*(line(rank, f"step {rank}", 1.0 + rank) for rank in (0, 1, 2)), line(3, "step 9", 48.0)],
            ["rank 3                  48s ago       step 9", "rank 2 (and 0-1 alike)  1s to 3s ago  step 2"],
        ),
        (
            [line(0, "done"), line(1, "done", code=0), line(2, "", None), line(3, "", None, unread="no route to host")],
            [
                "rank 2  -       nothing was logged",
                "rank 3  -       the log cannot be read: no route to host",
                "rank 0  5s ago  done",
                "rank 1  5s ago  (exit code 0)  done",
            ],
        ),
        ([line(0, "\x1b[1mdone\x1b[0m")], ["rank 0  5s ago  done"]),
        ([line(0, "step", -30.0)], ["rank 0  0s ago  step"]),
    ],
    ids=[
        "lines that differ in numbers share a row",
        "no rank has the line of another",
        "the same line",
        "a rank that stopped has a row of its own",
        "ended, silent and unreadable have rows of their own",
        "colours are left out",
        "a line of the future is of now",
    ],
)
def test_ranks_that_log_the_same_share_a_row(lines: list[LastLine], shown: list[str]) -> None:
    assert rows(lines, NOW) == shown


def test_a_large_gang_takes_few_rows() -> None:
    found = [line(rank, "step", 1.0) for rank in range(0, 1000, 2)]
    named = "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28"
    assert rows(found, NOW) == [f"ranks {named} and 485 more  1s ago  step"]
    words = [line(rank, "abcdefghijklmnop"[rank] * 3, float(rank)) for rank in range(ROWS + 3)]
    shown = rows(words, NOW)
    assert len(shown) == ROWS + 1
    assert shown[0].startswith(f"rank {ROWS + 2} ")
    assert shown[-1] == "and 3 more ranks, which logged later"


def test_after_the_end_ages_count_to_the_end() -> None:
    assert rows([line(0, "step", 100.0)], NOW, NOW - 60) == ["rank 0  40s before the end  step"]


def test_explain_shows_the_last_line_of_each_rank(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Running", message="2/2 ranks arrived")
    for rank, status in ((0, running()), (1, ended(0))):
        server.pod(f"pod-{rank}", labels(mine, rank), prints=("one", f"last of {rank}"), **status)
    shown = call("explain", mine).stdout
    heading = shown.index("Last line of each rank:")
    assert heading < shown.index("last of 0") < shown.index("(exit code 0)  last of 1")
    lines = json.loads(call("explain", mine, "-o", "json").stdout)["lastLines"]
    assert [(each["rank"], each["exit_code"], each["text"]) for each in lines] == [
        (0, None, "last of 0"),
        (1, 0, "last of 1"),
    ]
