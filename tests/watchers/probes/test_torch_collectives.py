"""The collectives that processes publish, as the probe reads them from a store: bounded, and each by itself."""

import json
from typing import Any

import pytest

from muster.watchers.probes.reports import MOST_REST
from muster.watchers.probes.torch.collectives import StoredCollectives, decoded

GROUP = ["0", "default_pg", "gloo", 3, "0-2", 6, "all_reduce", 1]
SHARE = ["0", "default_pg", "gloo", 3, "0-2", 6, 120, 95, 0]
VALUE = {"rank": 2, "life": 1, "beat": 31, "moves": 9, "longest": 2.5, "still": 14.0, "processes": 2, "groups": [GROUP]}


def read(**changes: Any) -> Any:
    return decoded("/muster/collectives/1.1", json.dumps(VALUE | changes).encode())


def test_a_value_is_the_report_of_a_process_with_its_pod() -> None:
    report, processes = read()
    assert (report.member, report.rank, report.beat, report.longest, processes) == (1, 2, 31, 2.5, 2)
    (group,) = report.groups
    assert (group.described, group.entered, group.operation, group.waits) == ("default_pg", 6, "all_reduce", True)
    assert read(groups=None)[0].groups is None
    assert report.shares == ()
    assert not report.doing.meets
    assert read(meets=1)[0].doing.meets
    (share,) = read(shares=[SHARE])[0].shares
    assert (share.described, share.size, share.entered, share.samples, share.inside) == ("default_pg", 3, 6, 120, 95)


@pytest.mark.parametrize(
    "changes",
    [
        {"rank": -1},
        {"rank": "2"},
        {"beat": 1 << 60},
        {"longest": -1},
        {"processes": 65},
        {"groups": [GROUP] * 25},
        {"groups": [[*GROUP[:4], "0-2;rm", *GROUP[5:]]]},
        {"groups": [[*GROUP[:4], "9-2", *GROUP[5:]]]},
        {"groups": [[*GROUP[:5], -2, *GROUP[6:]]]},
        {"groups": [GROUP[:5]]},
        {"shares": [SHARE] * 5},
        {"shares": [[*SHARE[:4], "9-2", *SHARE[5:]]]},
        {"shares": [[*SHARE[:7], -1, 0]]},
        {"shares": [[*SHARE[:7], 0.5, 0]]},
        {"shares": [SHARE[:8]]},
        {"shares": None},
        {"meets": 2},
    ],
)
def test_a_value_that_is_not_as_agreed_is_left_out(changes: dict[str, Any]) -> None:
    assert read(**changes) == (None, 1)


@pytest.mark.parametrize(
    "value", [b"", b"[]", b"\xff\xfe", b"[" * 3000, b'{"rank":2,"beat":1,"moves":1,"still":1e999}']
)
def test_garbage_is_left_out(value: bytes) -> None:
    assert decoded("/muster/collectives/1", value) == (None, 1)


@pytest.mark.parametrize("mark", [";", ":", ",", "(", ")"])
def test_a_name_does_not_end_the_part_of_a_sentence_that_it_is_in(mark: str) -> None:
    forged, bare = f"x{mark} rank 3 is stopped", "x\N{REPLACEMENT CHARACTER} rank 3 is stopped"
    three = [forged, forged, forged]
    report, _ = read(
        groups=[[*three, *GROUP[3:6], forged, 1]], shares=[[*three, *SHARE[3:]]], **{"in": forged, "file": forged}
    )
    (group,), (share,) = report.groups, report.shares
    assert (group.name, group.described, group.backend, group.operation) == (bare,) * 4
    assert (share.name, share.described, share.backend) == (bare,) * 3
    assert report.doing.place == f"in {bare} ({bare}:0)"


def test_texts_are_printable_and_short_and_times_are_bounded() -> None:
    hostile = "\x1b[31m" + "x" * 999
    report, _ = read(groups=[[hostile, *GROUP[1:]]], shares=[[hostile, *SHARE[1:]]], longest=1e9)
    assert report.longest == 6 * 3600
    for each in (*report.groups, *report.shares):
        assert len(each.name) <= 60
        assert "\x1b" not in each.name


def test_a_late_answer_does_not_put_the_next_look_off_for_minutes() -> None:
    collectives = StoredCollectives(4)
    collectives.took(100.0, 100.3)
    assert not collectives.due(100.3 + MOST_REST - 0.1)
    assert collectives.due(100.3 + MOST_REST + 0.1)
