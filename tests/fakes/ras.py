"""NCCL's RAS as a client sees it: its protocol, its answer in JSON, and the ways in which it does not answer.

Written after NVIDIA/nccl 2.30.7, src/ras/client_support.cc. It notes each command that it is given, and asserts
nothing: a test states which may come.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.listener import stop_listening

KINDS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")


def rank_of(rank: int, host: str, counts: Mapping[str, int], device: int = 0, **status: Any) -> dict[str, Any]:
    """A rank that has answered."""
    at_work = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
    counted = {"collective_counts": dict.fromkeys(KINDS, 0) | dict(counts)}
    return _process(rank, host, device) | {"status": at_work | status} | counted


def missing_rank(
    rank: int, host: str, device: int = 0, *, unresponsive: bool = True, dead: bool = False
) -> dict[str, Any]:
    """A rank that has not."""
    return _process(rank, host, device) | {"status": {"unresponsive": unresponsive, "considered_dead": dead}}


def _process(rank: int, host: str, device: int) -> dict[str, Any]:
    return {"rank": rank, "host": host, "pid": 100 + device, "cuda_dev": device, "nvml_dev": device}


def communicator(
    ranks: Sequence[Mapping[str, Any]], missing: Sequence[Mapping[str, Any]] = (), *, number: int = 0
) -> dict[str, Any]:
    """A communicator of all these ranks."""
    return {
        "hash": f"0xae94423cfbb2ef{number:02x}",
        "secondary_hash": "0xb7e7187447156001:0xb8242ed28a71381e",
        "size": len(ranks) + len(missing),
        "ranks_count": len(ranks),
        "missing_ranks_count": len(missing),
        "ranks": list(ranks),
        "missing_ranks": list(missing),
    }


def status(*communicators: Mapping[str, Any]) -> dict[str, Any]:
    """The whole answer."""
    return {
        "nccl_version": "2.30.7",
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": "2026-11-27 09:17:13",
        "communicators_count": len(communicators),
        "communicators": list(communicators),
        "ras": {"collection_time_sec": 0.001, "timeouts_count": 0},
    }


def gang(counts: Sequence[int], hosts: Sequence[str] = ()) -> dict[str, Any]:
    """One communicator of a rank on each host, with so many AllReduce each; a negative number has not answered."""
    at = hosts or [f"10.0.0.{rank + 1}" for rank in range(len(counts))]
    there = [rank_of(rank, at[rank], {"AllReduce": count}) for rank, count in enumerate(counts) if count >= 0]
    gone = [missing_rank(rank, at[rank]) for rank, count in enumerate(counts) if count < 0]
    return status(communicator(there, gone))


class FakeRas:
    """A server on this machine, whose answers a test changes."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._at = host, port
        self.says: dict[str, Any] | bytes = gang([5, 5, 5])
        self.protocol = b"SERVER PROTOCOL 2\n"
        self.knows_json = True
        """It has the command SET FORMAT, as NCCL from 2.28.7 on has."""
        self.again = b""
        """Sent without end after the answer."""
        self.cut = 0
        """Bytes of the answer that are sent before the connection ends; 0: all."""
        self.mute = False
        """It accepts connections and sends nothing, as the kernel does for a stopped process."""
        self.commands: list[str] = []
        self.connections = 0
        self.address = ""
        self.lives = asyncio.Event()
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "FakeRas":
        self._server = await asyncio.start_server(self._serve, *self._at)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        await stop_listening(self._server)
        self.lives.set()
        await asyncio.gather(*self._serving)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if self.mute:
                await self.lives.wait()
                return
            while line := await reader.readline():
                command = line.decode().rstrip("\r\n")
                self.commands.append(command)
                if await self._answered(command.lower(), writer):
                    return
        except ConnectionError:
            pass
        finally:
            writer.transport.abort() if self.mute else writer.close()
            self._serving.discard(task)

    async def _answered(self, command: str, writer: asyncio.StreamWriter) -> bool:
        """Answer one command; True if the connection is over."""
        if command.startswith("client protocol "):
            writer.write(self.protocol)
        elif command.startswith("timeout ") or (self.knows_json and command == "set format json"):
            writer.write(b"OK\n")
        elif command in ("status", "verbose status"):
            text = self.says if isinstance(self.says, bytes) else json.dumps(self.says, indent=2).encode() + b"\n"
            writer.write(text[: self.cut] if self.cut else text)
            while self.again:
                writer.write(self.again)
                await writer.drain()
            await writer.drain()
            return True
        else:
            writer.write(f"ERROR: Unknown command {command}\n".encode())
        return False
