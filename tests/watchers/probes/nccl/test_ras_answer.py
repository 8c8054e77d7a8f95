"""The answer of NCCL's RAS: the fields that are read, and the answers that are refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from muster.state.view.turns import at_once
from muster.watchers.probes.nccl import Unreadable, decoded_in_turns
from tests.fakes.ras import communicator, gang, missing_rank, rank_of, status

decoded = at_once(decoded_in_turns)


def read(said: dict[str, Any]) -> Any:
    return decoded(json.dumps(said).encode())


def test_each_rank_has_what_it_has_started_and_where_it_runs() -> None:
    counts = {"AllReduce": 7, "AllGather": 3, "ReduceScatter": 2, "Broadcast": 1, "Reduce": 4}
    (found,) = read(status(communicator([rank_of(0, "10.0.0.1", counts, device=5)]))).communicators
    assert (found.hash, len(found.ranks), found.clear) == ("0xae94423cfbb2ef00", 1, True)
    (rank,) = found.ranks
    assert (rank.rank, rank.host, rank.pid, rank.device) == (0, "10.0.0.1", 105, 5)
    assert rank.counts == (7, 3, 2, 17)


def test_a_kind_of_collective_that_is_not_known_counts_as_a_move_alone() -> None:
    (found,) = read(status(communicator([rank_of(0, "10.0.0.1", {"AlltoAll": 9})]))).communicators
    assert found.ranks[0].counts == (0, 0, 0, 9)


@pytest.mark.parametrize(("unresponsive", "dead"), [(True, False), (False, True), (False, False)])
def test_of_a_communicator_with_a_rank_that_has_not_answered_not_all_is_known(unresponsive: bool, dead: bool) -> None:
    there = [rank_of(0, "10.0.0.1", {})]
    gone = [missing_rank(1, "10.0.0.2", unresponsive=unresponsive, dead=dead)]
    (found,) = read(status(communicator(there, gone))).communicators
    assert not found.clear
    assert [rank.rank for rank in found.ranks] == [0]


@pytest.mark.parametrize("host", ["unknown", "", "10.0.0", "worker-1", "10.0.0.1:5"])
def test_a_host_that_is_no_address_is_not_known(host: str) -> None:
    there = [rank_of(0, host or "?", {})]
    assert read(status(communicator(there))).communicators[0].ranks[0].host == ""


def _change(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda said: said["communicators"][0].update(changes)


def _twice(said: dict[str, Any]) -> None:
    said["communicators"][0]["ranks"][1]["rank"] = 0


def _beyond(said: dict[str, Any]) -> None:
    said["communicators"][0]["ranks"][2]["rank"] = 3


def _without_one(said: dict[str, Any]) -> None:
    said["communicators"][0]["ranks"].pop()


@pytest.mark.parametrize("change", [_change(size=4), _change(size=800_000), _twice, _beyond, _without_one])
def test_of_a_communicator_that_does_not_name_each_rank_once_not_all_is_known(
    change: Callable[[dict[str, Any]], None],
) -> None:
    said = gang([5, 5, 5])
    change(said)
    (found,) = read(said).communicators
    assert not found.clear


@pytest.mark.parametrize(
    "status_",
    [{"init_state": 7}, {"async_error": 6}, {"finalize_called": True}, {"destroy_flag": True}, {"abort_flag": True}],
)
def test_of_a_communicator_with_a_rank_that_begins_or_ends_not_all_is_known(status_: dict[str, Any]) -> None:
    ranks = [rank_of(0, "10.0.0.1", {}), rank_of(1, "10.0.0.2", {}, **status_)]
    (found,) = read(status(communicator(ranks))).communicators
    assert not found.clear


def test_one_in_progress_without_an_error_is_at_work() -> None:
    ranks = [rank_of(0, "10.0.0.1", {}, async_error=7)]
    assert read(status(communicator(ranks))).communicators[0].clear


@pytest.mark.parametrize(
    "change",
    [
        {"rank": -1},
        {"rank": 1 << 40},
        {"rank": "0"},
        {"host": 7},
        {"host": "x" * 65},
        {"pid": -2},
        {"nvml_dev": 128},
        {"status": {}},
        {"status": None},
        {"collective_counts": {"AllReduce": -1}},
        {"collective_counts": {"AllReduce": 1 << 60}},
        {"collective_counts": {"AllReduce": 1.5}},
        {"collective_counts": []},
    ],
)
def test_an_answer_with_a_rank_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    said = gang([5, 5, 5])
    said["communicators"][0]["ranks"][1].update(change)
    with pytest.raises(Unreadable):
        read(said)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"NCCL version 2.24.3 compiled with CUDA 12.8\n",
        b"null",
        b"[]",
        b"{}",
        b'{"communicators_count": 1, "communicators": []}',
        b'{"communicators_count": 0, "communicators": {}}',
        b"[" * 100_000,
        json.dumps(gang([5, 5, 5])).encode()[:-40],
        json.dumps(status(*[communicator([rank_of(0, "10.0.0.1", {})])] * 2)).encode(),
        json.dumps(
            status(*[communicator([rank_of(0, "10.0.0.1", {})], number=number) for number in range(4_097)])
        ).encode(),
    ],
)
def test_what_is_no_whole_answer_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable) as refused:
        decoded(data)
    assert str(refused.value).isprintable()


def test_texts_of_the_program_are_made_printable() -> None:
    said = gang([5])
    said["communicators"][0]["hash"] = "0x\x1b[31m"
    assert read(said).communicators[0].hash.isprintable()
