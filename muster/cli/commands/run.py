"""``muster run``: the whole thing on this machine."""

import asyncio
from contextlib import AsyncExitStack

import click

from muster.api.manifest.load import load_manifest
from muster.cli.commands.lint import read_manifest
from muster.cli.commands.submit import remark
from muster.cli.exits import INTERRUPTED, status_of
from muster.cli.options import client_of
from muster.cli.processes.follow_run import Running
from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.local_cluster import local_ground
from muster.cli.terminal.colours import say
from muster.cli.terminal.display import choose_display


@click.command(
    epilog="\b\nExamples:\n  muster run manifest.yaml\n  muster run manifest.yaml --keep\n"
    "  muster run - < manifest.yaml\n"
)
@click.argument("file")
@click.option("--name", default=None, help="Name of the experiment; made from the manifest by default.")
@click.option("--keep", is_flag=True, help="Keep the state directory: logs, objects, the daemon's log.")
@click.pass_context
def run(ctx: click.Context, file: str, name: str | None, keep: bool) -> None:
    """Run FILE (- is standard input) on a local cluster, show it live, and exit with its outcome.

    The cluster and the daemon are started for it and end with it; where `muster local up` runs, that cluster is used.
    Pods are processes of this machine and begin in this directory: run what you would run as a script. Ctrl-C
    cancels; a second one does not wait.

    Exit status: 0 succeeded, 1 failed, 2 invalid manifest, 3 ended by a deadline, 130 interrupted.
    """
    text, filename = read_manifest(file)
    loaded = load_manifest(text, filename=filename)
    remark(loaded.warnings)

    size = sum(group.members for group in loaded.spec.groups)

    async def execute() -> int:
        with Interrupts() as interrupts:
            async with AsyncExitStack() as parts:
                starting = parts.enter_async_context(local_ground(keep=keep))
                ground = await interrupts.guard(asyncio.create_task(starting, name="run-start"))
                if ground is None:
                    return INTERRUPTED
                client = await parts.enter_async_context(client_of(ground.kubeconfig))
                seen = await client.submit(loaded, name=name, filename=filename)
                say(f"submitted {seen.namespace}/{seen.name}")
                with choose_display() as display:
                    running = Running(client, seen, size, ground.daemon_url, display, ground.supervise)
                    last = await running.to_the_end(interrupts)
                say(running.epitaph())
            return INTERRUPTED if interrupts.count else status_of(last)

    ctx.exit(asyncio.run(execute()))
