"""The probe reads the places of ranks: few harmless calls, at a bounded pace, whatever the values are."""

import json

import pytest

from muster.api.places import MAX_STACK, MAX_VALUE
from muster.state.view.places import PlaceReport
from muster.watchers.probes.bounded.grpc import NoAnswer, Status
from muster.watchers.probes.jax.places import MOST_STACKS, PlaceReader, stack_of
from muster.watchers.probes.jax.probe import JaxProbe
from muster.watchers.probes.jax.rpc import Malformed
from muster.watchers.probes.reports import MOST_REST
from tests.fakes.coordinator import FakeCoordinator
from tests.fakes.places import Store, value

PLACE = PlaceReport(0, 512.2, 470.2, 2.0, 3, "next", "data.py", 41, "8c736521")
STACK = json.dumps([["next", "/app/data.py", 41], ["<module>", "/app/train.py", 7]]).encode()


async def read(values: dict[str, bytes], size: int = 4) -> tuple[PlaceReport, ...]:
    return await PlaceReader(size).read(Store(values).get)


async def test_a_place_is_read() -> None:
    assert await read({"muster/places/0": value()}) == (PLACE,)
    assert await read({"muster/places/0": value(processes=3)}) == (PLACE._replace(processes=3),)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"7",
        b"null",
        b"[" * 1000,
        b"\xff\xfe",
        value(at=-1),
        value(since="470"),
        value(line=-3),
        value(line=10**12),
        value(returns=1.5),
        value(processes=-1),
        b'{"at":1e999,"since":0}',
        b'{"at":NaN,"since":0}',
        b'{"since":0}',
        value(file="x" * MAX_VALUE),
        b"x" * 10_000_000,
    ],
    ids=range(16),
)
async def test_a_value_that_is_no_place_is_left_out_and_the_others_count(bad: bytes) -> None:
    assert await read({"muster/places/0": value(), "muster/places/1": bad}) == (PLACE,)


@pytest.mark.parametrize("key", ["", "x", "-1", "0/1", "9" * 8, "9999999"])
async def test_a_key_that_is_no_rank_is_left_out(key: str) -> None:
    assert await read({"muster/places/0": value(), f"muster/places/{key}": value()}) == (PLACE,)


async def test_names_are_made_printable_and_short() -> None:
    (found,) = await read({"muster/places/0": value(**{"in": "\x1b[31m\u202enext", "file": "a\nb" * 80})})
    assert found.place.isprintable()
    assert len(found.place) < 150


async def test_a_name_does_not_end_the_part_of_a_sentence_that_it_is_in() -> None:
    forged = {"in": "next (a.py:1); no rank waits: all", "file": "b.py:2), rank 9 (c"}
    (found,) = await read({"muster/places/0": value(**forged)})
    (call,) = stack_of(json.dumps([[forged["in"], forged["file"], 41]]).encode())
    for place in (found.place.removeprefix("in "), call):
        assert place.endswith(":41)")
        assert not set(";,") & set(place)
        assert [place.count(each) for each in ":()"] == [1, 1, 1]


async def test_a_gang_with_more_values_than_ranks_is_not_read() -> None:
    with pytest.raises(Malformed):
        await read({f"muster/places/{number}": value() for number in range(2000)}, size=4)


async def test_stacks_are_read_once_for_the_first_rank_of_each_of_the_largest_groups() -> None:
    store = Store({f"muster/places/{rank}": value(line=41 if rank == 3 else 88) for rank in range(6)})
    store.values |= {f"muster/stacks/{rank}": STACK for rank in range(6)}
    reader = PlaceReader(6)
    await reader.read(store.get)
    assert store.asked == ["muster/places", "muster/stacks/0", "muster/stacks/3"]
    assert dict(reader.stacks)[3] == ("next (/app/data.py:41)", "<module> (/app/train.py:7)")
    await reader.read(store.get)
    assert store.asked[3:] == ["muster/places"]


async def test_a_further_stack_at_one_line_is_read_after_the_first_ranks_of_all_lines() -> None:
    store = Store(
        {f"muster/places/{r}": value(line=41 if r == 3 else 88, stack="b" if r > 3 else "a") for r in range(6)}
    )
    store.values |= {f"muster/stacks/{rank}": STACK for rank in range(6)}
    reader = PlaceReader(6)
    await reader.read(store.get)
    assert store.asked == ["muster/places", "muster/stacks/0", "muster/stacks/3", "muster/stacks/4"]


async def test_a_stack_is_not_asked_for_while_the_times_are_too_coarse_to_say_that_it_is_written() -> None:
    """A rank at a standstill for 19.96 s reports 20.0, and has not written its stack: an older one may exist."""
    store = Store({"muster/places/0": value(at=520.0, since=500.0), "muster/stacks/0": STACK})
    reader = PlaceReader(1)
    await reader.read(store.get)
    assert store.asked == ["muster/places"]
    store.values["muster/places/0"] = value(at=524.0, since=500.0)
    await reader.read(store.get)
    assert [rank for rank, _ in reader.stacks] == [0]


async def test_a_stack_that_was_not_answered_for_is_asked_for_again_and_one_that_is_none_is_not() -> None:
    store = Store({f"muster/places/{rank}": value(line=rank) for rank in range(3)})
    store.values |= {"muster/stacks/0": STACK, "muster/stacks/1": b"none"}

    async def get(key: str, directory: bool) -> bytes:
        found = await store.get(key, directory)
        if not found:
            raise NoAnswer(Status.NOT_FOUND, key)
        return found

    reader = PlaceReader(3)
    await reader.read(get)
    assert [rank for rank, _ in reader.stacks] == [0]
    store.asked.clear()
    store.values["muster/stacks/2"] = STACK
    await reader.read(get)
    assert store.asked == ["muster/places", "muster/stacks/2"]
    assert [rank for rank, _ in reader.stacks] == [0, 2]


async def test_stacks_that_were_read_are_not_read_again_after_a_look_that_took_too_long() -> None:
    store = Store({f"muster/places/{rank}": value(line=rank) for rank in range(3)})
    store.values |= {f"muster/stacks/{rank}": STACK for rank in range(3)}

    async def late(key: str, directory: bool) -> bytes:
        if key == "muster/stacks/1":
            raise TimeoutError
        return await store.get(key, directory)

    reader = PlaceReader(3)
    with pytest.raises(TimeoutError):
        await reader.read(late)
    store.asked.clear()
    await reader.read(store.get)
    assert store.asked == ["muster/places", "muster/stacks/1"]


async def test_ten_thousand_ranks_cost_one_call_and_a_few() -> None:
    store = Store({f"muster/places/{rank}": value(line=rank % 100) for rank in range(10_000)})
    reader = PlaceReader(10_000)
    assert len(await reader.read(store.get)) == 10_000
    assert len(store.asked) == 1 + MOST_STACKS
    assert sum(map(len, store.values.values())) < 1_500_000


@pytest.mark.parametrize(("took", "rest"), [(0.002, 4.0), (0.3, MOST_REST)])
async def test_the_next_look_is_within_seconds_also_where_answers_are_late(took: float, rest: float) -> None:
    reader = PlaceReader(4)
    await reader.read(Store({"muster/places/0": value()}).get)
    reader.took(100.0, 100.0 + took)
    assert not reader.due(100.0 + rest - 0.1)
    assert reader.due(100.0 + took + rest + 0.1)


async def test_no_stack_is_read_while_most_ranks_get_on() -> None:
    store = Store({f"muster/places/{rank}": value(since=512.2 if rank else 0.0) for rank in range(4)})
    await PlaceReader(4).read(store.get)
    assert store.asked == ["muster/places"]


@pytest.mark.parametrize(
    "bad", [b"", b"x" * (MAX_STACK + 1), b"x" * 10_000_000, b"[[1,2,3]]", b'[["f","x.py",-1]]', b"[" * 2000, b"\xff"]
)
def test_what_is_no_stack_is_none(bad: bytes) -> None:
    assert stack_of(bad) == ()


def test_control_characters_in_a_stack_are_made_printable() -> None:
    (call,) = stack_of(json.dumps([["f\x1b]0;x\x07\r\n", "\u202eyp.x", 1]]).encode())
    assert call.isprintable()


async def test_the_probe_reads_places_with_harmless_calls_only() -> None:
    async with FakeCoordinator(2) as coordinator:
        for rank in range(2):
            coordinator.arrive(rank)
        coordinator.store |= {f"muster/places/{rank}": value(line=40 + rank) for rank in range(2)}
        coordinator.store |= {"muster/stacks/0": STACK, "muster/stacks/1": b"x" * 100_000}
        probe = JaxProbe(coordinator.address, clock=lambda: 1.0, expected=2)
        answer = await probe.snapshot()
        await probe.close()
        assert answer.places is not None
        assert [each.place for each in answer.places] == ["in next (data.py:40)", "in next (data.py:41)"]
        assert [rank for rank, _ in answer.stacks] == [0]
        assert coordinator.forbidden_calls == []
