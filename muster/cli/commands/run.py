"""``muster run``: one experiment on this machine, from its start to its end."""

import asyncio
from contextlib import AsyncExitStack

import click

from muster.api.manifest.load import Loaded
from muster.cli.exits import INTERRUPTED, status_of
from muster.cli.manifests import print_warnings, read_manifest
from muster.cli.options import client_of
from muster.cli.processes.follow_run import Running
from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.local_cluster import local_ground
from muster.cli.program import ProgramCommand, program_manifest, program_words
from muster.cli.terminal.colours import say
from muster.cli.terminal.display import choose_display
from muster.client.names import name_for


@click.command(
    cls=ProgramCommand,
    epilog="\b\nExamples:\n  muster run -n 4 -- python train.py --steps 200\n  muster run manifest.yaml\n"
    "  muster run manifest.yaml --keep\n  muster run - < manifest.yaml\n",
)
@click.argument("file", required=False, metavar="FILE | -n N -- PROGRAM [ARGUMENT]...")
@click.option("-n", "--workers", type=click.IntRange(1), default=None, help="Run PROGRAM in N workers.")
@click.option("--restarts", type=click.IntRange(0), default=None, help="Restarts of PROGRAM after a failure. [0]")
@click.option("--name", default=None, help="Name of the experiment; made from the manifest or the program by default.")
@click.option("--keep", is_flag=True, help="Keep the state directory: logs, objects, the daemon's log.")
@click.pass_context
def run(
    ctx: click.Context, file: str | None, workers: int | None, restarts: int | None, name: str | None, keep: bool
) -> None:
    """Run an experiment on this machine, show it live, and exit with its outcome.

    It is either the experiment in FILE (- is standard input), or PROGRAM as a jax experiment of N equal workers.
    Everything after -- reaches PROGRAM exactly as written. The workers share this machine's CPUs and memory equally.

    A cluster and the daemon are started for it and end with it; where `muster local up` runs, that cluster is used.
    Pods are processes of this machine and begin in this directory: run what you would run as a script. Ctrl-C
    cancels; a second one does not wait.

    Exit status: 0 succeeded, 1 failed, 2 invalid manifest, 3 ended by a deadline, 130 interrupted.
    """
    words = program_words(ctx)
    loaded, filename = _experiment(file, words, workers, restarts)
    name = name or name_for(loaded, filename)
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


def _experiment(
    file: str | None, words: list[str] | None, workers: int | None, restarts: int | None
) -> tuple[Loaded, str]:
    """What to run, and the file it comes from."""
    if words is not None:
        if file is not None:
            raise click.UsageError(f"either a manifest ({file}) or a program after --, not both")
        if not words:
            raise click.UsageError("no program after --; write for instance: muster run -n 4 -- python train.py")
        if workers is None:
            raise click.UsageError("say how many workers run the program: muster run -n 4 -- ...")
        return program_manifest(words, workers=workers, restarts=restarts or 0), ""
    if workers is not None or restarts is not None:
        raise click.UsageError("-n and --restarts go with a program after --; a manifest states both itself")
    if file is None:
        raise click.UsageError(
            "no FILE, and no program: muster run manifest.yaml, or muster run -n 4 -- python train.py"
        )
    manifest = read_manifest(file)
    manifest.plan(name="checked")
    print_warnings(manifest.loaded.warnings)
    return manifest.loaded, manifest.file
