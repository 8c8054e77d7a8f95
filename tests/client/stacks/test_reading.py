"""The gang is asked rank by rank: bounded, each with its own limit of time, and each failure is that of its rank."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from muster.api.errors import ApiError, Forbidden, NotFound
from muster.client.member import Member, member_of
from muster.client.stacks import reading
from muster.client.stacks.frames import RankStacks, grouped, unread
from muster.client.stacks.processes import MOST
from muster.client.stacks.reading import StacksReader
from muster.kube.execution import Executed
from tests.client.localserver import labels, running
from tests.client.stacks.test_processes import PYTHON, listing

MEMBER = member_of({"metadata": {"name": "moe-0", "labels": labels("moe", 0)}, "status": running()})
FILE = "/proc/7/fd:\nl-wx------ 1 0 0 64 Nov 22 15:00 100 -> /memfd:muster-stacks-1f (deleted)"
Execute = Callable[[Any, str, str, str, Sequence[str]], Awaitable[Executed]]


def gang(size: int) -> list[Member]:
    return [replace(MEMBER, rank=rank, pod=f"moe-{rank}") for rank in range(size)]


def answers(pod: str, command: Sequence[str]) -> str:
    """A container with one process, which rank 37 has in another function."""
    nonce = command[4]
    if len(command) == 5:
        return listing(f"7 1 {PYTHON} python3 train.py", files=FILE).replace("muster-ab12", nonce)
    function, line = ("next", 41) if pod == "moe-37" else ("all_reduce", 88)
    assert list(command[5:]) == ["", "7:100"]
    stack = f'Current thread 0x1f (most recent call first):\n  File "/app/train.py", line {line} in {function}'
    return f"{nonce} stacks 7\n{stack}\n\n{nonce} end 0\n"


async def executed(_sockets: Any, _namespace: str, pod: str, _container: str, command: Sequence[str]) -> Executed:
    return Executed(0, answers(pod, command).encode(), b"")


async def read(
    monkeypatch: pytest.MonkeyPatch, execute: Execute, members: list[Member], **options: Any
) -> list[RankStacks]:
    monkeypatch.setattr(reading, "execute", execute)
    patience = options.pop("patience", 20.0)
    return await StacksReader(object(), "lab", assist=True, patience=patience).read(members, **options)  # type: ignore[arg-type]


async def test_512_ranks_are_two_sentences_and_never_more_at_once_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = most = 0
    counted: list[int] = []

    async def counting(*arguments: Any) -> Executed:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return await executed(*arguments)

    found = await read(monkeypatch, counting, gang(512), at_once=8, done=lambda count, _of: counted.append(count))
    assert [group.sentence for group in grouped(found)] == [
        "511 ranks (0-36, 38-511) in all_reduce at train.py:88",
        "rank 37 in next at train.py:41",
    ]
    assert most == 8
    assert counted == list(range(1, 513))


async def test_a_missing_right_ends_it_at_the_first_rank_and_names_the_verbs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def refused(_sockets: Any, _namespace: str, pod: str, *_: Any) -> Executed:
        asked.append(pod)
        raise Forbidden("no", status=403)

    with pytest.raises(Forbidden, match="`get` and `create` on pods/exec"):
        await read(monkeypatch, refused, gang(4))
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (Forbidden("no", status=403), "you may not execute commands in its pod"),
        (NotFound("pods not found", status=404), "pods not found"),
        (ApiError("no route to \x1b[2Jnode", status=500), "no route to"),
        (
            ApiError('Post "https://n7:10250/exec/a/b?command=x": timeout', status=500),
            'Post "https://n7:10250": timeout',
        ),
        (TimeoutError(), "no answer within 20 s"),
    ],
)
async def test_a_rank_that_cannot_be_asked_is_named_and_the_others_answer(
    monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    async def failing(*arguments: Any) -> Executed:
        if arguments[2] == "moe-2":
            raise error
        return await executed(*arguments)

    found = await read(monkeypatch, failing, gang(4))
    (missing,) = unread(found)
    assert missing.ranks == (2,)
    assert missing.why.startswith(why)
    assert missing.why.isprintable()
    assert [group.ranks for group in grouped(found)] == [(0, 1, 3)]


async def test_a_rank_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hanging(*_: Any) -> Executed:
        await asyncio.Event().wait()
        raise AssertionError

    (missing,) = unread(await read(monkeypatch, hanging, gang(2), patience=0.01))
    assert missing.sentence == "2 ranks (0-1): no answer within 0.01 s"


async def test_a_container_that_does_not_run_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = replace(MEMBER, running=False, state="ImagePullBackOff", why="no such image")

    async def never(*_: Any) -> Executed:
        raise AssertionError

    (missing,) = unread(await read(monkeypatch, never, [waiting]))
    assert missing.sentence == "rank 0: container does not run (ImagePullBackOff: no such image)"


async def test_without_python_no_process_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def listed(_sockets: Any, _namespace: str, _pod: str, _container: str, command: Sequence[str]) -> Executed:
        assert len(command) == 5
        return Executed(0, listing("7 1 /usr/bin/sleep sleep 9").replace("muster-ab12", command[4]).encode(), b"")

    (missing,) = unread(await read(monkeypatch, listed, gang(1)))
    assert missing.why == "no Python process runs in its container"


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (3, "2 of the 3 processes that do its work gave no stack"),
        (89, f"88 of the 89 processes that do its work gave no stack: at most {MOST} are asked"),
    ],
)
async def test_processes_that_gave_no_stack_beside_others_are_counted(
    monkeypatch: pytest.MonkeyPatch, size: int, why: str
) -> None:
    async def listed(_sockets: Any, _namespace: str, pod: str, _container: str, command: Sequence[str]) -> Executed:
        if len(command) == 5:
            every = (f"{pid} 1 {PYTHON} python3 train.py" for pid in range(7, 7 + size))
            return Executed(0, listing(*every).replace("muster-ab12", command[4]).encode(), b"")
        assert len(command) == 6 + min(size, MOST)
        return Executed(0, answers(pod, [*command[:5], "", "7:100"]).encode(), b"")

    (one,) = found = await read(monkeypatch, listed, gang(1))
    assert len(one.processes) == 1
    assert [each.why for each in unread(found)] == [why]
