"""The history of nodes: its bounds, what is one failure, and that it survives a leader."""

import json

import pytest

from muster.state.facts.nodes import history as module
from muster.state.facts.nodes.history import (
    ALL_NAMESPACES,
    DAY,
    FAILURES,
    MOST_BYTES,
    NAMESPACES,
    PERIOD,
    Failure,
    History,
    shares_of,
)

NOW = 20_000 * PERIOD + 100.0


def failure(run: str = "run", at: float = NOW, **more: object) -> Failure:
    usual = {"namespace": "team", "life": "uid.0", "cause": "Error", "sure": False, "first": int(at)}
    return Failure(at=int(at), run=run, **usual | more)  # type: ignore[arg-type]


def kept(history: History, node: str = "n") -> list[tuple[str, str, int]]:
    return [(each.run, each.cause, each.times) for each in history.failures()[node]]


def lives(history: History, *nodes: str) -> dict[str, dict[str, float]]:
    """By node, the nodes without any left out."""
    return {node: dict(found) for node in nodes if (found := history.lives(node))}


def test_a_life_that_is_stuck_and_then_ends_has_failed_once() -> None:
    history = History()
    history.failed("n", failure(cause="Hung", at=NOW - 60), NOW)
    history.failed("n", failure(cause="Error"), NOW)
    assert kept(history) == [("run", "Error", 1)]
    history.failed("n", failure(cause="Hung", at=NOW - 60), NOW + 5)
    assert kept(history) == [("run", "Error", 1)]
    assert history.failures()["n"][0].first == NOW - 60


def test_each_life_of_a_run_that_fails_counts() -> None:
    history = History()
    for life in ("uid.0", "uid.1", "uid.1", "new.0"):
        history.failed("n", failure(life=life), NOW)
    assert kept(history) == [("run", "Error", 3)]


def test_of_a_node_the_oldest_failures_go_and_are_counted() -> None:
    history = History()
    for number in range(FAILURES + 5):
        history.failed("n", failure(f"run-{number}", NOW + number), NOW + number)
    assert kept(history)[0][0] == "run-5"
    assert len(kept(history)) == FAILURES
    assert history.dropped == 5


def test_of_too_many_nodes_those_go_first_that_bore_least_and_failed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NODES", 10)
    history = History()
    history.failed("old", failure(at=NOW - DAY), NOW)
    history.failed("new", failure(at=NOW), NOW)
    for number in range(9):
        history.served("team", {f"n{number}": number + 1.0}, NOW)
    assert "new" in history.failures()
    names = [f"n{number}" for number in range(9)]
    assert list(lives(history, *names)) == names[2:]
    assert history.lives() == {"team": 45.0}, "the sum keeps what single nodes have lost"
    for number in range(20):
        history.failed(f"m{number}", failure(at=NOW + number), NOW + number)
    assert "old" not in history.failures()
    assert "m19" in history.failures()
    assert history.dropped


def test_of_all_nodes_the_oldest_failures_go_and_the_work_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALL_FAILURES", 20)
    history = History()
    for number in range(21):
        history.failed(f"n{number}", failure(at=NOW + number), NOW + number)
        history.served("team", {f"n{number}": 1.0}, NOW + number)
    assert list(history.failures()) == [f"n{number}" for number in range(3, 21)]
    assert history.dropped == 3
    assert history.lives("n0") == {"team": 1.0}


def test_namespaces_without_end_are_bounded() -> None:
    history = History()
    for number in range(ALL_NAMESPACES + 10):
        history.served(f"team-{number}", {"n": 1.0}, NOW)
    assert len(history.lives("n")) == NAMESPACES
    assert len(history.lives()) == ALL_NAMESPACES


def test_what_is_older_than_a_week_is_forgotten() -> None:
    history = History()
    history.failed("n", failure(), NOW)
    history.served("team", {"n": 1.0}, NOW)
    history.since(NOW + 6 * DAY)
    assert history.failures()
    history.since(NOW + 8 * DAY)
    assert not history.failures()
    assert not history.lives()
    assert history.nodes == 0


def test_work_counts_in_this_period_and_the_one_before() -> None:
    history = History()
    history.served("team", {"n": 1.0, "m": 0.5}, NOW)
    history.served("team", {"n": 2.0}, NOW + PERIOD)
    assert lives(history, "n", "m") == {"n": {"team": 3.0}, "m": {"team": 0.5}}
    assert history.lives() == {"team": 3.5}
    assert history.since(NOW + PERIOD) == NOW - 100
    history.served("team", {"n": 4.0}, NOW + 2 * PERIOD)
    assert lives(history, "n", "m") == {"n": {"team": 6.0}}
    history.since(NOW + 9 * PERIOD)
    assert lives(history, "n") == {}


def test_a_later_leader_has_what_was_stored_and_what_it_saw_meanwhile() -> None:
    first, second = History(), History()
    first.failed("n", failure("a"), NOW)
    first.served("team", {"n": 3.0}, NOW)
    second.failed("n", failure("b"), NOW + 5)
    second.served("team", {"n": 1.0}, NOW + 5)
    second.changed = False
    second.take_in(first.stored(), NOW + 10)
    assert [run for run, _, _ in kept(second)] == ["a", "b"]
    assert lives(second, "n") == {"n": {"team": 4.0}}
    assert second.lives() == {"team": 4.0}
    assert not second.changed
    late = History()
    late.take_in(first.stored(), NOW + PERIOD)
    assert lives(late, "n") == {"n": late.lives()} == {"n": {"team": 3.0}}
    late.since(NOW + 2 * PERIOD)
    assert lives(late, "n") == late.lives() == {}


def test_what_is_stored_has_room_in_one_object_whatever_the_names_are() -> None:
    history = History()
    name = "\\" * 200
    for node in range(600):
        for number in range(4):
            history.failed(f"{name}{node}", failure(f"{name}{number}", NOW + node), NOW + node)
        history.served(name, {f"{name}{node}": 1.0}, NOW)
    text = history.stored()
    assert MOST_BYTES * 0.9 < len(text) <= MOST_BYTES
    again = History()
    again.take_in(text, NOW + 600)
    assert f"{name}599" in again.failures()
    assert f"{name}0" not in again.failures()


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b"[1]", b'{"period": "x", "nodes": {}}', b'{"period": 1, "nodes": {"n": 1}}', b"\xff", b"[" * 9999],
)
def test_what_is_no_history_is_an_error_and_changes_nothing(text: bytes) -> None:
    history = History()
    with pytest.raises(ValueError, match="no history of nodes"):
        history.take_in(text, NOW)
    assert not history.failures()


def test_hostile_numbers_and_names_are_cut() -> None:
    big = 2**63 - 1
    row = [big, "t\x1b[2J", "r" * 999, "u", "c\n", True, -5, big]
    lives = {"team": [1e308, 1e308], "x": [-1.0, 2.0], "\x1b": [0.0, 2.0]}
    text = json.dumps(
        {"period": int(NOW // PERIOD), "nodes": {"": {"failures": [row], "lives": lives}}, "dropped": big}
    )
    history = History()
    history.take_in(text.encode(), NOW)
    (found,) = history.failures()["-"]
    assert found.at <= NOW + 60
    assert found.first == 0
    assert found.times <= 10**6
    assert found.namespace.isprintable()
    assert len(found.run) < 260
    assert list(history.lives("-").values()) == [2.0]
    again = History()
    again.take_in(history.stored(), NOW)
    assert again.failures() == history.failures()


def test_a_gang_is_shared_out_over_its_nodes() -> None:
    assert shares_of(["a", "a", "b", "", "c"]) == {"a": 0.5, "b": 0.25, "c": 0.25}
    assert shares_of([""]) == {}
