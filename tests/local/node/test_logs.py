"""Container logs: timestamps, tail, since, follow, previous."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.node import logs
from muster.local.node.logs import MAX_LINE, MESSAGE_BYTES, MESSAGE_LINES, LogStore, LogWriter, termination_message
from muster.local.node.objects import SECOND, micro_time, nano_time


class Clock:
    now = 1_700_000_000 * SECOND

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock, tmp_path: Path) -> LogStore:
    made = LogStore(clock)
    made.register("ns", "pod", tmp_path)
    return made


def written(store: LogStore, folder: Path, *pieces: bytes, run: int = 0) -> LogWriter:
    """A log with these bytes, which has ended."""
    writer = store.writer(folder, "main", run)
    for piece in pieces:
        writer.feed(piece)
    store.finish(writer)
    return writer


async def text(store: LogStore, **options: Any) -> bytes:
    return b"".join([line async for line in store.read("ns", "pod", "main", **options)])


async def test_lines_are_read_with_or_without_timestamps(store: LogStore, tmp_path: Path) -> None:
    written(store, tmp_path, b"one\ntw", b"o\n\nlast")
    assert await text(store) == b"one\ntwo\n\nlast\n"
    assert (await text(store, timestamps=True)).splitlines()[0] == b"2023-11-14T22:13:20.000000000Z one"


async def test_since_skips_older_lines(store: LogStore, tmp_path: Path, clock: Clock) -> None:
    writer = store.writer(tmp_path, "main", 0)
    writer.feed(b"old\n")
    clock.now += 10 * SECOND
    writer.feed(b"new\n")
    store.finish(writer)
    assert await text(store, since=1_700_000_005.0) == b"new\n"


@pytest.mark.parametrize("count", [0, 1, 2, 5, 3000])
async def test_tail_reads_the_last_lines(store: LogStore, tmp_path: Path, count: int) -> None:
    lines = [f"line {number} {'x' * 60}" for number in range(2500)]
    written(store, tmp_path, "".join(f"{line}\n" for line in lines).encode())
    expected = lines[-count:] if count else []
    assert (await text(store, tail=count)).decode().splitlines() == expected


async def test_a_follower_reads_everything_until_the_end(store: LogStore, tmp_path: Path) -> None:
    writer = store.writer(tmp_path, "main", 0)
    writer.feed(b"a\n")
    follower = asyncio.create_task(text(store, follow=True))
    for piece in (b"b\n", b"c", b"\nd"):
        await asyncio.sleep(0)
        writer.feed(piece)
    assert not follower.done()
    store.finish(writer)
    assert await follower == b"a\nb\nc\nd\n"


async def test_previous_reads_the_run_before_and_older_logs_are_removed(store: LogStore, tmp_path: Path) -> None:
    for run in range(3):
        written(store, tmp_path, f"run {run}\n".encode(), run=run)
    assert await text(store) == b"run 2\n"
    assert await text(store, previous=True) == b"run 1\n"
    assert not (tmp_path / "main" / "0.log").exists()


async def test_a_missing_log_is_an_error_with_the_reason(store: LogStore) -> None:
    with pytest.raises(FileNotFoundError, match="waiting to start"):
        await text(store)
    with pytest.raises(FileNotFoundError, match="previous terminated container"):
        await text(store, previous=True)
    with pytest.raises(FileNotFoundError, match="has not run on this node"):
        async for _ in store.read("ns", "other", "main"):
            pass


async def test_forgetting_a_pod_keeps_the_logs_of_a_newer_one_with_its_name(store: LogStore, tmp_path: Path) -> None:
    store.register("ns", "pod", tmp_path / "new")
    store.unregister("ns", "pod", tmp_path)
    written(store, tmp_path / "new", b"new\n")
    assert await text(store) == b"new\n"


def test_a_long_line_is_split(tmp_path: Path, clock: Clock) -> None:
    writer = LogWriter(tmp_path / "0.log", clock)
    writer.feed(b"x" * (MAX_LINE * 2 + 5))
    writer.close()
    lengths = [len(line) - len(nano_time(0)) - 1 for line in (tmp_path / "0.log").read_bytes().splitlines()]
    assert lengths == [MAX_LINE, MAX_LINE, 5]


@given(st.integers(min_value=0, max_value=4_000_000_000 * SECOND), st.integers(min_value=0, max_value=10**12))
def test_timestamps_sort_as_text(moment: int, later: int) -> None:
    assert nano_time(moment) <= nano_time(moment + later)
    assert len(nano_time(moment)) == 30
    assert len(micro_time(moment)) == 27


MANY_LINES = b"".join(b"line %d\n" % number for number in range(200)) + b"ValueError: \xff"


@pytest.mark.parametrize(
    ("log", "lines", "first", "last"),
    [
        (MANY_LINES, MESSAGE_LINES, "line 121", "ValueError: \N{REPLACEMENT CHARACTER}"),
        (b"x" * 10_000 + b" the end", 1, *["x" * (MESSAGE_BYTES - 9) + " the end"] * 2),
    ],
    ids=["lines", "bytes"],
)
def test_a_termination_message_is_the_bounded_end_of_the_log(
    store: LogStore, tmp_path: Path, log: bytes, lines: int, first: str, last: str
) -> None:
    found = termination_message(written(store, tmp_path, log).path).splitlines()
    assert (len(found), found[0], found[-1]) == (lines, first, last)


async def test_a_log_that_grows_is_renamed_and_followers_go_on_in_the_new_file(
    store: LogStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_FILE", 100)
    writer = store.writer(tmp_path, "main", 0)
    followed: list[bytes] = []

    async def follow() -> None:
        async for line in store.read("ns", "pod", "main", follow=True):
            followed.append(line)

    follower = asyncio.create_task(follow())
    for number in range(20):
        writer.feed(b"line %d\n" % number)
        await asyncio.sleep(0)
    store.finish(writer)
    await follower
    assert followed == [b"line %d\n" % number for number in range(20)]
    assert sorted(path.name for path in (tmp_path / "main").iterdir()) == ["0.log", "0.log.1"]
    assert sum(path.stat().st_size for path in (tmp_path / "main").iterdir()) < 400
    assert (await text(store)).endswith(b"line 19\n")
    written(store, tmp_path, run=1)
    written(store, tmp_path, run=2)
    assert sorted(path.name for path in (tmp_path / "main").iterdir()) == ["1.log", "2.log"]


def test_a_full_disk_costs_lines_and_not_the_program(store: LogStore, tmp_path: Path) -> None:
    writer = store.writer(tmp_path, "main", 0)
    kept, writer._file = writer._file, Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115 - closed below
    writer.feed(b"lost\nlost too\n")
    writer._file.close()
    writer._file = kept
    writer.feed(b"found\n")
    store.finish(writer)
    lines = [line.partition(b" ")[2] for line in writer.path.read_bytes().splitlines()]
    assert lines == [b"(2 lines are missing: the disk of the log was full)", b"found"]
