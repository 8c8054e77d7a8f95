"""A port of a pod on a person's machine: the real API server authorizes it and hands the WebSocket on to the node."""

import asyncio
import contextlib
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from muster.cli.exits import FAILED, INTERRUPTED
from muster.cli.processes.stack import free_port
from tests.real.diagnosing import EXPERIMENTS, entitled
from tests.real.ground import ROOT
from tests.real.namespace import SLOW
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(400)
SIZE = 3_000_000
"""Bytes that go to the pod, and come back as their hash; and of an answer."""
PROGRAM = f"""
import hashlib, http.server, os

class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        heard = hashlib.sha256(self.rfile.read(int(self.headers["Content-Length"]))).hexdigest()
        said = (heard + " rank " + os.environ["MUSTER_RANK"] + " ").encode().ljust({SIZE}, b".")
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

http.server.ThreadingHTTPServer(("", PORT), Answers).serve_forever()
"""


class Forwarded:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdout is not None
        assert process.stderr is not None
        self._output, self._errors = process.stdout, process.stderr

    async def address(self) -> str:
        """What it prints once the port is open; empty where it has ended."""
        return (await asyncio.wait_for(self._output.readline(), SLOW)).decode().strip()

    async def says(self) -> str:
        """The next line for a person."""
        return (await asyncio.wait_for(self._errors.readline(), SLOW)).decode().strip()

    async def ends(self) -> int:
        return await asyncio.wait_for(self._process.wait(), SLOW)

    async def interrupted(self) -> int:
        """The exit status after Ctrl-C."""
        self._process.send_signal(signal.SIGINT)
        return await self.ends()


@contextlib.asynccontextmanager
async def forwarded(here: Site, *arguments: str, config: str = "") -> AsyncIterator[Forwarded]:
    """Run the command until the block ends."""
    options = ("--kubeconfig", config or here.ground.admin, "--namespace", here.namespace)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "muster.cli", "port-forward", *arguments, *options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        yield Forwarded(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def post(url: str, body: bytes) -> bytes:
    with urllib.request.urlopen(url, body, timeout=SLOW) as answer:
        found: bytes = answer.read()
    return found


async def serving(here: Site) -> int:
    """Two members that answer at a port; the port."""
    port = free_port()
    file = Path(here.ground.folder) / f"{here.namespace}.py"
    file.write_text(PROGRAM.replace("PORT", str(port)), encoding="utf-8")
    await here.running("run", f"exec {sys.executable} -u {file}", on=PROCESSES)
    return port


@pytest.mark.core
async def test_a_port_of_a_member_is_carried_through_the_api_server(here: Site) -> None:
    if not here.ground.kubelet:
        pytest.skip("the API server of the cluster that is given does not reach the node agent of these tests")
    port = await serving(here)
    here.row.happens("muster port-forward to rank 1: 3 requests of 3 MB at the same time; then a port without server")
    sent = b"x" * SIZE
    expected = f"{sha256(sent).hexdigest()} rank 1 ".encode().ljust(SIZE, b".")
    async with forwarded(here, "run", f":{port}", "--rank", "1") as opened:
        url = await opened.address()
        assert f"port {port} of run-" in await opened.says()
        answers = await asyncio.gather(*(asyncio.to_thread(post, url, sent) for _ in range(3)))
        assert [answer == expected for answer in answers] == [True] * 3
        assert await opened.interrupted() == INTERRUPTED
    silent = free_port()
    async with forwarded(here, "run", f":{silent}") as opened:
        url = await opened.address()
        await opened.says()
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            await asyncio.to_thread(post, url, b"")
        said = await opened.says()
        assert f"port {silent} of pod run-" in said
    here.row.says(said)


async def test_ports_need_the_right_to_forward_them_which_view_has_not(here: Site) -> None:
    port = await serving(here)
    await entitled(here, "view", EXPERIMENTS, role="view")
    here.row.happens("muster port-forward by a person with the role view")
    async with forwarded(here, "run", f":{port}", config=await here.account("view")) as opened:
        url = await opened.address()
        await opened.says()
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            await asyncio.to_thread(post, url, b"")
        said = await opened.says()
        here.row.says(said)
        assert await opened.ends() == FAILED
    assert "you may not forward ports" in said
    assert "`get` and `create` on pods/portforward" in said
