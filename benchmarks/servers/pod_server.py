"""The server of the pod create benchmark: answers every POST with a pod of realistic size.

The pod has the labels that were sent: the engine compares them.

Started as a program; prints its port, and ends when stdin closes.
"""

import asyncio
import json
import re
import sys

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


LABELS = b'{"labels": "those that were sent"}'
"""Stands for the labels in ``_pod``."""


def _pod() -> bytes:
    """A pod as an API server returns it from a create, with defaults and managedFields."""
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    fields: dict[str, dict[str, dict[str, str]]] = {
        f"f:{name}": {"f:value": {}} for name in ("labels", "env", "resources", "volumes", "tolerations") * 8
    }
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "moe-worker-0-17-bcdfg",
            "namespace": "lab",
            "uid": "0f8fad5b-d9cb-469f-a165-70867728950e",
            "resourceVersion": "123456789",
            "creationTimestamp": "2030-01-01T00:00:00Z",
            "labels": json.loads(LABELS),
            "managedFields": [
                {"manager": "muster", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:spec": fields}}
            ],
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/train:1",
                    "command": ["/bin/sh", "-c", "python3 -u main.py"],
                    "env": [{"name": f"VARIABLE_{number}", "value": "x" * 40} for number in range(24)],
                    "resources": {"limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"}},
                    "terminationMessagePath": "/dev/termination-log",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Never",
            "schedulerName": "default-scheduler",
            "tolerations": tolerations,
        },
        "status": {"phase": "Pending", "qosClass": "Guaranteed"},
    }
    return json.dumps(pod).encode()


class Server(asyncio.Protocol):
    """One connection. Splits requests by their Content-Length."""

    pod = _pod()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with an empty buffer."""
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer every whole request in the buffer."""
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self.held, 0, end + 2)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self.held) < whole:
                return
            sent = json.loads(self.held[end + 4 : whole])
            self.held = self.held[whole:]
            body = self.pod.replace(LABELS, json.dumps(sent["metadata"]["labels"]).encode())
            head = f"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body)


async def main() -> None:
    """Serve on a free port of loopback until stdin closes."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
