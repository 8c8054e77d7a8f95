"""A stand-in for ``ray start``: the head answers what the probe asks, and knows the workers that have joined.

Real Ray is a gigabyte and takes a minute for three nodes; the dashboards need only what its endpoints answer.

``FAKE_RAY_ABSENT`` is the rank of a worker that never joins. With ``FAKE_RAY_WORKER_DIES``, the name of a file, the
head of epoch 0 ends when a worker has joined, and so does the first worker of epoch 1.
"""

import json
import os
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

DASHBOARD, AGENT = 8265, 52365
LIVED = 3.0
"""Seconds after which a process that is to end does."""


class Head(BaseHTTPRequestHandler):
    """The endpoints of dashboard and agent."""

    nodes: dict[str, str] = {}  # noqa: RUF012 - one server in a process
    jobs: set[str] = set()  # noqa: RUF012

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path in ("/api/gcs_healthz", "/api/healthz"):
            self._answer("success")
        elif path == "/api/version":
            self._answer(json.dumps({"session_name": f"session_{os.getpid()}"}))
        elif path == "/api/v0/nodes":
            entries = [
                {"node_ip": ip, "state": "ALIVE", "is_head_node": group == "", "labels": {"ray.io/node-group": group}}
                for ip, group in self.nodes.items()
            ]
            self._answer(json.dumps({"data": {"result": {"total": len(entries), "result": entries}}}))
        elif path.startswith("/api/jobs/"):
            if path.removeprefix("/api/jobs/") in self.jobs:
                self._answer(json.dumps({"status": "RUNNING", "message": "Job is currently running."}))
            else:
                self.send_error(404)
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "job" in sent:
            self.jobs.add(sent["job"])
            self._answer("submitted")
            return
        self.nodes[self.client_address[0]] = sent["group"]
        if os.environ.get("FAKE_RAY_WORKER_DIES") and os.environ["MUSTER_EPOCH"] == "0":
            threading.Timer(LIVED, os._exit, (1,)).start()
        self._answer("joined")

    def _answer(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *values: object) -> None:
        """Log nothing."""


def head() -> None:
    """Serve dashboard and agent at the address of the pod."""
    address = socket.gethostbyname(os.environ["FQ_RAY_IP"])
    Head.nodes[address] = ""
    for port in (DASHBOARD, AGENT):
        threading.Thread(target=ThreadingHTTPServer((address, port), Head).serve_forever, daemon=True).start()


def worker() -> None:
    """Join, unless this one never does."""
    if os.environ.get("FAKE_RAY_ABSENT") == os.environ["MUSTER_RANK"]:
        return
    body = json.dumps({"group": os.environ["RAY_NODE_TYPE_NAME"]}).encode()
    url = f"http://{os.environ['FQ_RAY_IP']}:{DASHBOARD}/join"
    urlopen(Request(url, body, method="POST"), timeout=30).read()
    if os.environ["MUSTER_EPOCH"] == "1" and first_time():
        time.sleep(LIVED)
        sys.exit(1)


def first_time() -> bool:
    """Whether no worker has asked before: the file that ``FAKE_RAY_WORKER_DIES`` names is made by the first."""
    try:
        Path(os.environ["FAKE_RAY_WORKER_DIES"]).touch(exist_ok=False)
    except (KeyError, FileExistsError):
        return False
    return True


if __name__ == "__main__":
    head() if "--head" in sys.argv else worker()
    time.sleep(3600)
