"""Publishes how many collectives a process of a PyTorch gang has entered, into the store that its gang meets at.

PyTorch 2.15 records each collective in memory (its flight recorder), also with gloo. A thread asks it every two seconds
whether anything has moved, which costs microseconds. Only once nothing has moved for ``STILL`` seconds it reads the
record itself, which may take 50 ms: never for more than ``LOAD`` of the time. It writes one small value
(``muster.api.collectives``), by the process's own client of the store: no port is opened, and no connection is made.
The value has no tensor and no stack. While nothing moves it has the place of the program, and whether that works.

Twice a second, at random moments, it looks whether the process is in a collective: if a gang waits for one rank in each
step, that rank is in them least. It reads the same summary, and every ``CHECK`` seconds the record, for the operations
of a group.

A stopped process, or one whose C code keeps the interpreter's lock, writes nothing, which shows it.

torch is used if the program has imported it, and never imported. MUSTER_RECORDER=off leaves it alone.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
import time
from contextlib import suppress
from itertools import takewhile

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would be an import of every process
    from typing import Any

TORCH = "torch.distributed.distributed_c10d"
NATIVE = "torch._C._distributed_c10d"
KEYS, MAX_VALUE, MAX_GROUPS, MAX_PROCESSES = "muster/collectives", 3072, 24, 64
MAX_SHARES, TOGETHER = 4, ("all_reduce", "all_gather", "allgather", "barrier", "reduce_scatter")
FASTEST, SLOWEST, VALUES_PER_SECOND = 2.0, 20.0, 100
NAME = "muster recorder"
"""Name of the thread."""
STILL = 10.0
"""Seconds without a move after which the record is read."""
SAMPLE, CHECK = 0.5, 30.0
"""Seconds from one sample to the next, on average, and between two looks at the operations."""
LOAD = 0.001
"""The part of a CPU that reading the record may cost."""
WARM = 16
"""Collectives after which ``longest`` begins: before that programs prepare data and compile, for any time."""
MEETS = ("/torch/distributed/distributed_c10d.py", "/torch/distributed/pipelining/")
"""Files of torch in whose calls a program waits for other ranks."""
BACKENDS = ("gloo", "nccl")
"""Backends that record."""
MAX_TEXT, MAX_RANKS = 60, 120
"""Characters of a name, and of the ranks of a group."""
_lives = [0]


class Unsupported(Exception):
    """This process cannot publish: the store is no TCPStore, or torch does not record."""


class Recorder:
    """The values that one life of the default process group publishes. Times are of the monotonic clock."""

    def __init__(self, c10d: Any, native: Any, began: int) -> None:
        """``began`` is the beginning of the life, in nanoseconds since 1970: the record may have older entries."""
        self.c10d, self.native, self.began = c10d, native, began
        self.world = c10d.GroupMember.WORLD
        self.rank, self.size = c10d.get_rank(), c10d.get_world_size()
        self.member, self.local, self.processes = place_of(os.environ, self.rank, self.size)
        self.key = f"{KEYS}/{self.member}.{self.local}" if self.local else f"{KEYS}/{self.member}"
        self.store = tcp_store(c10d)
        _lives[0] += 1
        self.life = _lives[0]
        self.beat = self.moves = self.operations = 0
        self.longest = self.moved_at = self.read_after = 0.0
        self.groups: list[list[Any]] | None = None
        self.shares: dict[str, list[Any]] = {}
        self.checked, self.check_at = -1, 0.0
        self.watch: Any = None
        """The watch of the main thread (``place_watch``)."""
        with suppress(Exception):
            self.places = place_watch()
            self.watch = self.places.PlaceWatch(threading.main_thread().ident or 0)

    def publish(self, over: threading.Event) -> None:
        """Write a value at each interval until the group is destroyed, and take samples at random moments between."""
        import random

        interval = min(max(self.size / VALUES_PER_SECOND, FASTEST), SLOWEST)
        chance = random.Random()  # noqa: S311  (the program's own random numbers stay)
        write_at = time.monotonic() + interval
        while not over.wait(SAMPLE * (0.5 + chance.random())) and self.c10d.GroupMember.WORLD is self.world:
            now = time.monotonic()
            with suppress(Exception):
                self.sample()
            if now < write_at:
                continue
            write_at = now + interval
            with suppress(Exception):  # the store may be away for a while, and the program must not notice
                self.store.set(self.key, self.value(now))

    def value(self, now: float) -> bytes:
        """Return the value to write now."""
        self.look(now)
        self.beat += 1
        report = {
            "rank": self.rank,
            "life": self.life,
            "beat": self.beat,
            "moves": self.moves,
            "longest": round(self.longest, 1),
            "still": round(now - self.moved_at, 1),
            "processes": self.processes,
        }
        with suppress(Exception):
            report.update(self.doing(now))
        self.check(now)
        report["shares"] = list(self.shares.values())
        if len(json.dumps(report)) > MAX_VALUE // 2:
            del report["shares"]
        if self.groups is None:
            return json.dumps(report).encode()
        groups = self.groups[:MAX_GROUPS]
        while True:
            value = json.dumps({**report, "groups": groups}).encode()
            if len(value) <= MAX_VALUE:
                return value
            groups = groups[:-1]

    def doing(self, now: float) -> dict[str, Any]:
        """Return where the program is, whether it works, and its announced pause."""
        self.watch.look(now)
        announced = self.places.announced()
        report: dict[str, Any] = {"pause": announced} if announced else {}
        if now - self.moved_at >= STILL:
            report["in"], report["file"], report["line"] = self.places.activity(self.watch.frames)
            report["worked"], report["how"] = round(now - self.watch.worked, 1), self.watch.how
            report["alone"] = int(self.watch.alone)
            report["meets"] = int(meets(self.watch.frames, self.places.LIBRARIES))
        return report

    def look(self, now: float) -> None:
        """Look whether anything has moved; after a while without, read the place of each group."""
        status = [self.native._dump_fr_trace_json(False, False, backend) for backend in BACKENDS]
        operations = sum(map(enqueued, status))
        moves = hash(tuple(status)) & 0xFFFFFFFF
        if moves != self.moves:
            if self.operations >= WARM:
                self.longest = max(self.longest, now - self.moved_at)
            self.moves, self.moved_at, self.operations, self.groups = moves, now, operations, None
        elif self.groups is None and now - self.moved_at >= STILL and now >= self.read_after:
            began = time.thread_time()  # time in which a busy machine lets it wait does not count
            self.groups = self.read()
            self.read_after = now + (time.thread_time() - began) / LOAD

    def sample(self) -> None:
        """Record of each group whether this process is in one of its collectives at this moment."""
        if not self.shares:
            return
        status = [json.loads(self.native._dump_fr_trace_json(False, False, each)) for each in BACKENDS]
        inside = [{number for number, each in (of.get("pg_status") or {}).items() if waits(each)} for of in status]
        others = len(inside[0]) + len(inside[1])
        for number, share in self.shares.items():
            share[5] = int(status[0]["pg_status"][number]["last_enqueued_collective"])
            share[6] += 1
            share[7] += number in inside[0]
            share[8] += number not in inside[0] and others > 0

    def check(self, now: float) -> None:
        """Sample the groups of gloo in whose operations since the last check every rank waits.

        Another operation ends its group's samples: the root of a broadcast waits for no rank, and senders wait less.
        """
        if now < self.check_at or now - self.moved_at > FASTEST:
            return
        began, first = time.thread_time(), self.checked < 0
        entries = json.loads(self.native._dump_fr_trace_json(True, False, BACKENDS[0])).get("entries") or []
        recent = [each for each in entries if each["record_id"] > self.checked]
        if recent:
            self.checked = recent[-1]["record_id"]
        names = {str(each["pg_id"]): each["process_group"][0] for each in recent}
        apart = {str(each["pg_id"]) for each in recent if not together(each)}
        for number in apart:
            self.shares.pop(number, None)
        for group, name in [] if first else list(self.c10d._world.pg_names.items()):
            for number in [each for each in names if names[each] == name and each not in apart]:
                if number not in self.shares and len(self.shares) < MAX_SHARES:
                    ranks = sorted(self.c10d.get_process_group_ranks(group))
                    about = [str(name)[:MAX_TEXT], str(group.group_desc)[:MAX_TEXT], BACKENDS[0]]
                    self.shares[number] = [*about, len(ranks), ranges(ranks), 0, 0, 0, 0]
        self.check_at = now + max(CHECK, 2 * (time.thread_time() - began) / LOAD)

    def read(self) -> list[list[Any]]:
        """Return each group of this process with the collectives that it has entered, waiting ones first."""
        world, found = self.c10d._world, []
        for backend in BACKENDS:
            entries = json.loads(self.native._dump_fr_trace_json(True, False, backend)).get("entries") or []
            whole = bool(entries) and entries[0]["record_id"] == 0  # the buffer has not wrapped
            last = {
                entry["process_group"][0]: entry
                for entry in entries
                if not entry["is_p2p"] and entry["time_created_ns"] >= self.began
            }
            for group, name in list(world.pg_names.items()):
                if backend not in str(world.pg_backend_config.get(group, "")):
                    continue
                entry, ranks = last.get(name), sorted(self.c10d.get_process_group_ranks(group))
                count = entry["collective_seq_id"] if entry else 0 if whole else -1
                operation = entry["profiling_name"].rpartition(":")[2] if entry else ""
                waits = int(entry is not None and not entry["retired"])
                described = str(group.group_desc)[:MAX_TEXT]
                about = [str(name)[:MAX_TEXT], described, backend, len(ranks), ranges(ranks)]
                found.append([*about, count, operation[:MAX_TEXT], waits])
        return sorted(found, key=lambda each: -each[-1])


def place_watch() -> Any:
    """Return the module that watches a thread, from the file beside this one."""
    if not __package__:
        return sys.modules["muster-assist"].beside("place_watch")
    from muster.assist.mounted import place_watch

    return place_watch


def enqueued(status: bytes) -> int:
    """Return the number of operations of all groups, by the record's own summary."""
    groups = json.loads(status).get("pg_status") or {}
    return sum(int(each.get("last_enqueued_collective", 0)) for each in groups.values())


def waits(status: Any) -> bool:
    """Return True if a group has entered a collective that is not over."""
    return int(status.get("last_enqueued_collective", 0)) > int(status.get("last_completed_collective", 0))


def together(entry: Any) -> bool:
    """Return True if no member leaves the operation before all have entered it."""
    operation = entry["profiling_name"].rpartition(":")[2].lstrip("_")
    return not entry["is_p2p"] and operation.startswith(TOGETHER)


def meets(frames: list[tuple[str, str, int]], libraries: tuple[str, ...]) -> bool:
    """Return True if the innermost line of the program has called an exchange with other ranks."""
    inside = takewhile(lambda frame: any(part in frame[1] for part in libraries), frames)
    return any(part in file for _, file, _ in inside for part in MEETS)


def ranges(ranks: list[int]) -> str:
    """Return ascending ranks as ``0-3,8``; ``#`` and a check sum if that is long."""
    import zlib

    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
    return text if len(text) <= MAX_RANKS else f"#{zlib.crc32(text.encode()):08x}"


def tcp_store(c10d: Any) -> Any:
    """Return the TCPStore of the default process group, below its prefixes."""
    store = c10d._get_default_store()
    while getattr(store, "underlying_store", None) is not None:
        store = store.underlying_store
    if type(store).__name__ != "TCPStore":
        raise Unsupported
    return store


def place_of(environ: Any, rank: int, world: int) -> tuple[int, int, int]:
    """Return the pod of this process, its index and the number of processes in it (see ``muster.torch.reporting``)."""
    names = ("PET_NODE_RANK", "PET_NNODES", "GROUP_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    number = {name: int(environ[name]) for name in names if environ.get(name, "").isdigit()}
    if "LOCAL_RANK" in number and "LOCAL_WORLD_SIZE" in number:
        local, processes = number["LOCAL_RANK"], number["LOCAL_WORLD_SIZE"]
    else:
        pods = number.get("PET_NNODES", world)
        processes = world // pods if pods and world % pods == 0 else 1
        local = rank % processes
    if processes > MAX_PROCESSES:
        raise Unsupported
    return number.get("PET_NODE_RANK", number.get("GROUP_RANK", rank // max(1, processes))), local, processes


def start(c10d: Any, began: int) -> None:
    """Publish for the life of the default process group that has just begun."""
    import atexit

    recorder, over = Recorder(c10d, sys.modules[NATIVE], began), threading.Event()
    recorder.native._dump_fr_trace_json(False, False, BACKENDS[0])  # raises if this PyTorch lacks it
    atexit.register(over.set)
    threading.Thread(target=recorder.publish, args=(over,), name=NAME, daemon=True).start()


def start_once() -> None:
    """Publish for a program that reports its steps without ``spec.assist``, once it has joined a gang."""
    c10d, running = sys.modules.get(TORCH), any(each.name == NAME for each in threading.enumerate())
    if c10d is not None and c10d.is_initialized() and not running and os.environ.get("MUSTER_RECORDER") != "off":
        start(c10d, 0)


def attach(c10d: Any) -> None:
    """Publish once the program has called ``init_process_group``, of the module that has just been imported."""
    if os.environ.get("MUSTER_RECORDER") == "off" or not hasattr(sys.modules[NATIVE], "_dump_fr_trace_json"):
        return
    join = c10d.init_process_group

    @functools.wraps(join)
    def init_process_group(*arguments: Any, **named: Any) -> Any:
        began = time.time_ns()
        result = join(*arguments, **named)
        with suppress(Exception):  # the program joins its gang in any case
            start(c10d, began)
        return result

    c10d.init_process_group = init_process_group
