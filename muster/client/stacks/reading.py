"""Reads the stacks of a gang: two commands in each rank's container, with the caller's right to execute them.

    async with Client() as client:
        found = await stacks_of(client, "train-x7k2p")

The right for that (``get`` and ``create`` on ``pods/exec``) lets its holder do anything in a container, so the daemon
has none, and no role of the chart gives it.

A process answers with the text of ``faulthandler`` (cpython: Python/traceback.c, _Py_DumpTracebackThreads), or with the
JSON of ``py-spy dump --json`` (py-spy: src/dump.rs and src/stack_trace.rs) or its error. The process that is looked at
wrote the text, so every line of it may be anything.
"""

import asyncio
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from muster.api.errors import ApiError, Forbidden
from muster.api.names import CONTAINER
from muster.api.values.printable import MESSAGE, printable
from muster.client.client import Client
from muster.client.errors import NoSuchRank, may_not
from muster.client.member import Member
from muster.client.stacks.frames import Frame, ProcessStacks, RankStacks, ThreadStack
from muster.client.stacks.processes import MOST, Listing, Process, dump_command, list_command, read_listing, workers
from muster.kube.connection import Connection
from muster.kube.execution import Sockets, execute
from muster.kube.unstructured import mapping
from muster.state.vocabulary.subject import EXPERIMENT

LONGEST = 300
"""Characters of py-spy's output that are quoted."""


@dataclass(frozen=True, slots=True)
class ProcessAnswer:
    """One section: the tool, the process, what was printed, and the exit code."""

    source: str
    pid: int
    text: str
    code: int


def read_answers(text: str, nonce: str) -> Iterator[ProcessAnswer]:
    """Yield the sections of the script's output that have begun; one that was cut off has the code 1."""
    head: tuple[str, int] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        words = line.split(" ")
        if words[0] != nonce or len(words) != 3 or not words[2].isdecimal():
            lines.append(line)
        elif words[1] == "end" and head:
            yield ProcessAnswer(*head, "\n".join(lines), int(words[2]))
            head = None
        elif words[1] in ("spy", "stacks"):
            head, lines = (words[1], int(words[2])), []
    if head:
        yield ProcessAnswer(*head, "\n".join(lines), 1)


def read_stacks(chosen: Sequence[Process], answers: Sequence[ProcessAnswer]) -> tuple[tuple[ProcessStacks, ...], str]:
    """Return the stacks of the chosen processes, and what py-spy complained of where it read none."""
    processes = {each.pid: each for each in chosen}
    found: dict[int, ProcessStacks] = {}
    reason = ""
    for answer in answers:
        process = processes.get(answer.pid)
        if process is None:
            continue
        if answer.source == "spy":
            threads = read_pyspy(answer.text) if answer.code == 0 else None
            reason = reason or ("" if threads else printable(complaint(answer.text), LONGEST))
        else:
            threads = read_faulthandler(answer.text, process.main)
        if threads:
            name = "py-spy" if answer.source == "spy" else "faulthandler"
            found[answer.pid] = ProcessStacks(answer.pid, process.command, name, threads, answer.text.strip("\n"))
    return tuple(found.values()), reason


WITHOUT_STACKS: Final = {
    "T": "is stopped (SIGSTOP, or Ctrl-Z in its terminal): it continues after SIGCONT",
    "t": "is stopped by a debugger",
    "D": "waits in the kernel for a disk or a network file system",
    "Z": "has ended, and its parent has not asked for its exit code",
}
"""State of a process that answers no signal, by the letter of proc(5)."""
SPY: Final = "put it there (pip install py-spy)"
ASSIST: Final = f"set spec.assist (muster submit --assist) for pods that are created from then on, or {SPY}"


def why_none(listing: Listing, chosen: Sequence[Process], reason: str, assist: bool | None) -> str:
    """Return why no process has given its stacks, and the next step. ``assist``: None if the kind has no such field."""
    if not listing.complete:
        return "its container has no shell with ls, grep and tr"
    if not chosen:
        return "no Python process runs in its container"
    if held := next((each for each in chosen if each.state in WITHOUT_STACKS), None):
        return f"its process {held.pid} {WITHOUT_STACKS[held.state]}"
    spy = f"py-spy: {reason}" if reason else "no py-spy in the image"
    if any(each.file is not None for each in chosen):
        return f"{spy}, and its process did not answer SIGURG within 3 s"
    if assist is None:
        return f"{spy}: {SPY}; a jax program that joins with muster.jax.initialize() needs none"
    if assist:
        return (
            f"{spy}, and its process runs without spec.assist: it began before that was set, or its command sets "
            "PYTHONPATH, MUSTER_ASSIST=off or an option of Python that ignores them"
        )
    return f"{spy} and spec.assist is off: {ASSIST}"


MOST_THREADS = 256
MOST_FRAMES = 512
"""More are not read; faulthandler itself writes 100 of each."""
_THREAD = re.compile(
    r"(?:(Current thread|Thread) 0x([0-9a-fA-F]{1,16})(?: \[(.*)\])?|Stack) \(most recent call first\):"
)
"""``Stack`` is that of the thread that the signal goes to, the main one."""
_FRAME = re.compile(r'  File (?:"(.*)"|\?\?\?), line (\d{1,9}|\?\?\?) in (.*)')


def read_faulthandler(text: str, main: int | None = None) -> tuple[ThreadStack, ...]:
    """Return the threads in the order of the text. ``main`` is the identity of the main thread, where it is known."""
    threads: list[tuple[re.Match[str], list[Frame]]] = []
    for line in text.splitlines():
        if head := _THREAD.fullmatch(line):
            if len(threads) == MOST_THREADS:
                break
            threads.append((head, []))
        elif threads and len(threads[-1][1]) < MOST_FRAMES and (call := _FRAME.fullmatch(line)):
            threads[-1][1].append(Frame(call[3], call[1] or "???", 0 if call[2] == "???" else int(call[2])))
    return tuple(_thread(head, frames, main) for head, frames in threads)


def _thread(head: re.Match[str], frames: list[Frame], main: int | None) -> ThreadStack:
    if head[2] is None:
        return ThreadStack("main" if main is None else f"0x{main:x}", main=True, frames=tuple(frames))
    identity = int(head[2], 16)
    is_main = identity == main if main is not None else head[1] == "Current thread"  # signals go to the main thread
    return ThreadStack(head[3] or f"0x{identity:x}", is_main, tuple(frames))


class _Frame(msgspec.Struct):
    name: str
    filename: str
    line: int = 0


class _Thread(msgspec.Struct):
    frames: list[_Frame]
    pid: int = 0
    thread_id: int = 0
    thread_name: str | None = None
    os_thread_id: int | None = None


_DECODER = msgspec.json.Decoder(list[_Thread])


def read_pyspy(text: str) -> tuple[ThreadStack, ...] | None:
    """Return the threads; None if the text is no list of threads. Warnings may precede the list."""
    start = 0 if text.startswith("[") else text.find("\n[") + 1
    try:
        found = _DECODER.decode(text[start:])
    except (ValueError, RecursionError):
        return None
    return tuple(
        ThreadStack(
            each.thread_name or f"0x{each.thread_id:x}",
            each.os_thread_id == each.pid if each.os_thread_id else each.thread_name == "MainThread",
            tuple(Frame(frame.name, frame.filename, max(0, frame.line)) for frame in each.frames),
        )
        for each in found
    )


def complaint(text: str) -> str:
    """Return why py-spy read nothing, in its own words: its first line, with the error, and the cause below it."""
    lines = [line.strip() for line in text.splitlines()]
    first = next((line.removeprefix("Error: ") for line in lines if line), "it printed nothing")
    if "Caused by:" in lines[:-1]:
        cause = lines[lines.index("Caused by:") + 1].removeprefix("0: ")
        return f"{first.rstrip('.')}: {cause}"
    return first


AT_ONCE = 32
"""Ranks that are asked at the same time, each over a connection of its own."""
PATIENCE = 20.0
"""Seconds for one rank."""

_ADDRESS = re.compile(r'(https?://[^/"\s]+)/[^"\s]*')
"""The address at which the API server asks a kubelet, whose path holds the whole command."""

Done = Callable[[int, int], None]
"""Called with the number of ranks that were asked, and of all that are."""


async def stacks_of(
    client: Client,
    name: str,
    ranks: Collection[int] = (),
    *,
    at_once: int = AT_ONCE,
    patience: float = PATIENCE,
    namespace: str | None = None,
    done: Done = lambda _count, _of: None,
) -> list[RankStacks]:
    """Return the Python stacks of all ranks or of some at this moment, by rank.

    Raises ``NoSuchExperiment``, ``NoSuchRank`` for a rank without a pod, and ``Forbidden``.
    """
    seen = await client.get(name, namespace=namespace)
    members = [each for each in await client.members(name, namespace=namespace) if not ranks or each.rank in ranks]
    if absent := sorted(set(ranks) - {each.rank for each in members}):
        raise NoSuchRank(f"{seen.who}: rank {', '.join(map(str, absent))} has no pod now")
    if not isinstance(client.transport, Connection):
        raise TypeError("commands are executed over a Connection only")
    assist = mapping(seen.raw.get("spec")).get("assist") is True if seen.subject == EXPERIMENT else None
    reader = StacksReader(client.transport, seen.namespace, assist=assist, patience=patience)
    size = 0 if ranks else seen.status.size
    if not members and not size:
        raise NoSuchRank(f"{seen.who}: it has no pods now")
    return await reader.read(members, size, at_once=at_once, done=done)


class StacksReader:
    """Asks the ranks of one gang. ``assist`` is its ``spec.assist``; None where its kind has no such field."""

    def __init__(
        self, sockets: Sockets, namespace: str, *, assist: bool | None = None, patience: float = PATIENCE
    ) -> None:
        self._sockets = sockets
        self._namespace = namespace
        self._assist = assist
        self._patience = patience

    async def read(
        self,
        members: Sequence[Member],
        size: int = 0,
        *,
        at_once: int = AT_ONCE,
        done: Done = lambda _count, _of: None,
    ) -> list[RankStacks]:
        """Return the stacks of each member, and why each other rank below ``size`` has none, by rank.

        Raises ``Forbidden`` if the first may not be asked.
        """
        found: list[RankStacks] = []
        waiting = iter(sorted(members, key=lambda member: not member.running))

        async def work() -> None:
            for member in waiting:
                found.append(await self._rank(member))
                done(len(found), len(members))

        if first := next(waiting, None):  # a missing right is met once, and not by all
            found.append(await self._rank(first, allowed=False))
            done(1, len(members))
        async with asyncio.TaskGroup() as tasks:
            for _ in range(max(1, at_once)):
                tasks.create_task(work())
        gone = set(range(size)) - {each.rank for each in members}
        found += [RankStacks(rank, "", unread="it has no pod now") for rank in gone]
        return sorted(found, key=lambda each: each.rank)

    async def _rank(self, member: Member, *, allowed: bool = True) -> RankStacks:
        if not member.running:
            why = f": {printable(member.why, MESSAGE)}" if member.why else ""
            what = "container has exited" if member.phase in ("Succeeded", "Failed") else "container does not run"
            return RankStacks(member.rank, member.pod, unread=f"{what} ({member.state}{why})")
        try:
            async with asyncio.timeout(self._patience):
                return await self._running(member)
        except TimeoutError:
            return RankStacks(member.rank, member.pod, unread=f"no answer within {self._patience:g} s")
        except Forbidden as error:
            if not allowed:
                raise may_not("execute commands in", self._namespace, "exec", error) from error
            return RankStacks(member.rank, member.pod, unread="you may not execute commands in its pod")
        except ApiError as error:
            return RankStacks(member.rank, member.pod, unread=printable(_ADDRESS.sub(r"\1", error.message), MESSAGE))

    async def _running(self, member: Member) -> RankStacks:
        nonce = f"muster-{secrets.token_hex(8)}"
        listing = read_listing(await self._run(member, list_command(nonce)), nonce)
        every = workers(listing.processes)
        chosen = every[:MOST]
        answered = await self._run(member, dump_command(nonce, listing.spy, chosen)) if chosen else ""
        stacks, reason = read_stacks(chosen, tuple(read_answers(answered, nonce)))
        why = "" if stacks else why_none(listing, chosen, reason, self._assist)
        if stacks and (rest := len(every) - len(stacks)):
            limit = f": at most {MOST} are asked" if len(every) > MOST else ""
            why = f"{rest} of the {len(every)} processes that do its work gave no stack{limit}"
        return RankStacks(member.rank, member.pod, stacks, printable(why, MESSAGE))

    async def _run(self, member: Member, command: list[str]) -> str:
        done = await execute(self._sockets, self._namespace, member.pod, member.container or CONTAINER, command)
        return done.output.decode("utf-8", "replace")
