"""debug.vscode on real processes: from the manifest to the address that ``muster get`` shows.

Microsoft's program needs a person who signs in, so a program of its name in PATH prints what it prints: first the code
to sign in with, until the test says that somebody has, and then the address of the tunnel.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from muster.cli.processes.stack import module
from muster.local.home import Caller, write_caller
from tests.e2e.environment import ROOT, Environment, environment
from tests.processes.forked import run

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

NAME = "sketch"
TWELVE_HOURS = 12 * 3_600
WAITS = 60.0
CODE = """\
#!/bin/sh
# What `code tunnel` prints to a log.
case "$*" in
"tunnel user login --provider microsoft")
    site=https://microsoft.com/devicelogin
    echo "To grant access to the server, please log into $site and use code C98F-F1F$MUSTER_RANK"
    while [ ! -e "$SIGNED_IN" ]; do sleep 0.1; done
    ;;
"tunnel --accept-server-license-terms --name "*)
    echo "*"
    echo "* Visual Studio Code Server"
    echo "*"
    echo "Open this link in your browser https://vscode.dev/tunnel/$4/work"
    exec sleep 600
    ;;
*)
    echo "error: unexpected arguments: $*" >&2
    exit 2
    ;;
esac
"""
MANIFEST = {
    "kind": "AIchorManifest",
    "spec": {
        "operator": "pytorch",
        "image": "x",
        "command": "echo the command was not replaced; exit 9",
        "debug": {"vscode": {"enabled": True, "provider": "microsoft"}},
        "types": {"worker": {"count": 2, "resources": {"cpus": 0.1, "memory": 0.1, "shmSizeGB": 0}}},
    },
}


@asynccontextmanager
async def ground(folder: Path, signed_in: Path) -> AsyncIterator[Environment]:
    """A cluster whose pods find the stand-in as ``code``."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "code").write_text(CODE)
    (programs / "code").chmod(0o755)
    variables = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "SIGNED_IN": str(signed_in)}
    async with environment(folder / "state", "--memory-only") as env:
        await env.start_daemon()
        with write_caller(env.home.callers, "default", NAME, Caller(variables, ROOT)):
            yield env


async def shown(env: Environment, pattern: str) -> list[tuple[str, ...]]:
    """What ``muster get`` shows of each rank, once it does so of both."""
    command = module("muster.cli", "get", NAME)
    variables = {**os.environ, "KUBECONFIG": env.cluster.kubeconfig}
    printed = ""
    async with asyncio.timeout(WAITS):
        while len(found := re.findall(rf"debug server of rank (\d): {pattern}$", printed, re.MULTILINE)) < 2:
            done = await asyncio.to_thread(run, command, env=variables)
            printed = done.stdout
            assert done.returncode == 0, done.stderr
            assert "Failed" not in printed
    return found


async def test_the_tunnel_of_each_member_is_shown_from_its_sign_in_to_its_address(tmp_path: Path) -> None:
    signed_in = tmp_path / "signed-in"
    async with ground(tmp_path, signed_in) as env:
        seen = await env.client.submit(yaml.safe_dump(MANIFEST), name=NAME)
        login = r"https://microsoft\.com/devicelogin and use code (\S+)"
        assert await shown(env, login) == [("0", "C98F-F1F0"), ("1", "C98F-F1F1")]
        signed_in.touch()
        name = f"m-{seen.uid[:8]}"
        address = r"https://vscode\.dev/tunnel/(\S+)"
        assert await shown(env, address) == [("0", f"{name}-0/work"), ("1", f"{name}-1/work")]
        seen = await env.until(NAME, lambda each: each.phase == "Running")
        assert "VS Code tunnel takes the place of the command" in seen.message
        assert seen.status.deadline is not None
        assert seen.status.started_at is not None
        assert seen.status.deadline - seen.status.started_at == pytest.approx(TWELVE_HOURS, abs=1)
        await env.client.cancel(NAME)
        ended = await env.until(NAME, lambda each: each.finished)
        assert (ended.phase, ended.status.reason, ended.status.restarts) == ("Failed", "Cancelled", 0)
