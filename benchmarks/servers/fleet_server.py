"""Serves a big cluster to one daemon: streamed lists, then as many pod events as are ordered.

Started as ``python -m benchmarks.servers.fleet_server PODS GANG``; prints its port. Each line on stdin is a number of
events to send at once; the server ends when stdin closes. Each event is a write of its own, as an API server flushes
them. The server writes HTTP itself, from prepared bytes, so that it takes little CPU beside the daemon.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterator

from benchmarks.servers.synthetic_pods import pod
from muster.api.names import (
    API_VERSION,
    KIND,
    LABEL_EXPERIMENT,
    LABEL_POD,
    LABEL_RANK,
    LABEL_UID,
    name_suffix,
    pod_name,
)

EPOCH = 2
NEWS = 4
"""One event in four makes a pod unready; the others change no field that is kept of a pod."""


class Pods:
    """Pods from a template, split where they differ."""

    def __init__(self, gang: int) -> None:
        self._gang = gang
        self._suffixes: dict[int, str] = {}
        made = pod(0, 0)
        metadata = made["metadata"]
        metadata |= {"name": "<<name>>", "namespace": "<<namespace>>", "uid": "<<uid>>"}
        metadata |= {"resourceVersion": "<<version>>"}
        metadata["labels"] |= {LABEL_EXPERIMENT: "<<owner>>", LABEL_UID: "<<gang>>"}
        metadata["labels"] |= {LABEL_POD: "<<index>>", LABEL_RANK: "<<index>>"}
        metadata["ownerReferences"][0] |= {"name": "<<owner>>", "uid": "<<gang>>"}
        made["spec"]["nodeName"] = "<<node>>"
        made["status"] |= {"podIP": "<<ip>>", "hostIP": "<<host>>"}
        next(each for each in made["status"]["conditions"] if each["type"] == "Ready")["status"] = "<<ready>>"
        self._pieces = re.split(rb"<<(\w+)>>", json.dumps(made, separators=(",", ":")).encode())

    def line(self, number: int, version: int, event: bytes, *, ready: bool = True) -> bytes:
        """Return a watch line, chunked."""
        gang, index = divmod(number, self._gang)
        values = {
            b"name": self._name(gang, index).encode(),
            b"namespace": namespace(gang).encode(),
            b"uid": b"%08x-94a1-4f5e-8c2b-%012x" % (number, gang),
            b"version": b"%d" % version,
            b"owner": b"pretrain-%d" % gang,
            b"gang": uid(gang).encode(),
            b"index": b"%d" % index,
            b"node": b"gpu-%d.cluster.example" % (number % 4000),
            b"ip": b"127.%d.%d.%d" % (1 + (number >> 16), number >> 8 & 255, number & 255),
            b"ready": b"True" if ready else b"False",
            b"host": b"127.200.%d.%d" % (number % 4000 >> 8, number % 4000 & 255),
        }
        pieces = self._pieces.copy()
        pieces[1::2] = [values[name] for name in pieces[1::2]]
        return chunk(b'{"type":"%s","object":%s}\n' % (event, b"".join(pieces)))

    def _name(self, gang: int, index: int) -> str:
        """Return the name that makes it a member: one with another name is not counted."""
        suffix = self._suffixes.get(gang) or self._suffixes.setdefault(gang, name_suffix(uid(gang), EPOCH))
        return pod_name(f"pretrain-{gang}", "worker", 0, index, suffix)


def namespace(gang: int) -> str:
    """Return the namespace of an experiment and of its pods."""
    return f"team-{gang % 20}"


def uid(gang: int) -> str:
    """Return the uid of an experiment."""
    return f"{gang:08x}-1111-4f5e-8c2b-000000000000"


def chunk(line: bytes) -> bytes:
    """Return HTTP's chunked encoding of one line."""
    return b"%x\r\n%s\r\n" % (len(line), line)


def experiment(gang: int, size: int) -> bytes:
    """Return a running experiment's watch line."""
    status = {"phase": "Running", "phaseTime": "2026-11-20T10:00:09.000000Z", "observedGeneration": 1, "epoch": EPOCH}
    obj = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": f"pretrain-{gang}",
            "namespace": namespace(gang),
            "uid": uid(gang),
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2026-11-20T10:00:00Z",
        },
        "spec": {
            "operator": "jax",
            "image": "registry.example/team/pretrain:large",
            "command": "python3 -u train.py --config configs/large.yaml",
            "types": {"worker": {"count": size, "resources": {"cpus": 96, "ramRatio": 8}}},
        },
        "status": status | {"ready": f"{size}/{size}"},
    }
    return chunk(b'{"type":"ADDED","object":%s}\n' % json.dumps(obj, separators=(",", ":")).encode())


def bookmark(version: int) -> bytes:
    """Return the end of a streamed list."""
    meta = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    return chunk(b'{"type":"BOOKMARK","object":{"metadata":%s}}\n' % json.dumps(meta, separators=(",", ":")).encode())


class Cluster:
    """``pods`` pods in gangs of ``gang``; ``orders`` brings how many of them change next."""

    def __init__(self, pods: int, gang: int, orders: asyncio.StreamReader) -> None:
        self._pods = pods
        self._gang = gang
        self._orders = orders
        self._made = Pods(gang)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one watch until the client closes it."""
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        path = head.split(b" ", 2)[1].partition(b"?")[0]
        for line in self._list(path.rsplit(b"/", 1)[1]):
            writer.write(line)
            if writer.transport.get_write_buffer_size() > 1 << 20:
                await writer.drain()
        writer.write(bookmark(self._pods))
        if path.endswith(b"/pods"):
            await self._change(writer)
        await reader.read()
        writer.close()

    def _list(self, collection: bytes) -> Iterator[bytes]:
        if collection == b"pods":
            for number in range(self._pods):
                yield self._made.line(number, number + 1, b"ADDED")
        elif collection == b"experiments":
            for number in range(-(-self._pods // self._gang)):
                yield experiment(number, self._gang)

    async def _change(self, writer: asyncio.StreamWriter) -> None:
        sent = 0
        while order := await self._orders.readline():
            for event in range(sent, sent + int(order)):
                number = event * 7919 % self._pods  # a prime: over all gangs and never in order
                writer.write(self._made.line(number, self._pods + 1 + event, b"MODIFIED", ready=event % NEWS != 0))
            sent += int(order)
            await writer.drain()


class Orders(asyncio.StreamReaderProtocol):
    """Standard input; ``ended`` is set when it closes."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.ended = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that stdin is closed."""
        super().connection_lost(exc)
        self.ended.set()


async def main(pods: int, gang: int) -> None:
    """Serve until stdin closes, so that the server never outlives its parent."""
    orders = asyncio.StreamReader()
    _, stdin = await asyncio.get_running_loop().connect_read_pipe(lambda: Orders(orders), sys.stdin)
    server = await asyncio.start_server(Cluster(pods, gang, orders).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stdin.ended.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
