"""``muster run``: one experiment on this machine, from its start to its end."""

import asyncio
import os
import signal
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import click

from muster.api.errors import MusterError
from muster.api.manifest.changes import Share
from muster.cli.commands.local.kill import send
from muster.cli.environment import ASSIGNMENT, Room, RunEnvironment, read_env_files, read_room, run_environment
from muster.cli.exits import INTERRUPTED, status_of
from muster.cli.manifests import Manifest, print_warnings, read_manifest, torch_note
from muster.cli.options import ClusterChoice, client_of
from muster.cli.processes.follow_run import RunFollower
from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.stack import hint, local_cluster
from muster.cli.program import PROGRAMS, OperatorName, ProgramCommand, choices, program_manifest, program_words
from muster.cli.terminal.colours import plain, say
from muster.cli.terminal.display import choose_display
from muster.client import Client, Snapshot
from muster.client.submitting import name_for
from muster.local.home import Caller, Home, default_home, write_caller
from muster.state.vocabulary.plan import Plan


@click.command(
    cls=ProgramCommand,
    epilog="\b\nExamples:\n  muster run -n 4 -- python train.py --steps 200\n  muster run manifest.yaml\n"
    "  muster run manifest.yaml --env XLA_FLAGS=--xla_dump_to=/tmp/dump --env-file secrets.env\n"
    "  muster run manifest.yaml --set types.worker.count=2 --ignore-resources\n"
    "  muster run manifest.yaml --keep\n  muster run - < manifest.yaml\n",
)
@click.argument("file", required=False, metavar="FILE | -n N -- PROGRAM [ARGUMENT]...")
@click.option("-n", "--workers", type=click.IntRange(1), default=None, help="Run PROGRAM in N workers.")
@click.option(
    "--operator",
    type=OperatorName(),
    default=None,
    help=f"How the workers find each other: {choices()}. [jax]",
)
@click.option("--cpus", type=click.FloatRange(0.001), default=None, help="CPUs of each worker of PROGRAM.")
@click.option("--memory", type=click.FloatRange(0.001), default=None, help="GB of memory of each worker of PROGRAM.")
@click.option("--restarts", type=click.IntRange(0), default=None, help="Restarts of PROGRAM after a failure. [0]")
@click.option("--env", "assigned", type=ASSIGNMENT, multiple=True, help="Set a variable; may be given often.")
@click.option(
    "--env-file",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Set the variables in a file of lines NAME=VALUE; may be given often.",
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change a field of FILE, such as types.worker.count=2; may be given often.",
)
@click.option(
    "--ignore-resources",
    "light",
    is_flag=True,
    help="Drop accelerators, selectors, tolerations, queues and claims of FILE, and fit CPUs and memory "
    "to this machine.",
)
@click.option(
    "--assist/--no-assist",
    default=None,
    help="Set spec.assist: help Python in the members without a change to the program. [on]",
)
@click.option("--name", default=None, help="Name of the experiment; made from the manifest or the program by default.")
@click.option("--keep", is_flag=True, help="Keep the state directory: logs, objects, the daemon's log.")
@click.pass_context
def run(
    ctx: click.Context,
    file: str | None,
    workers: int | None,
    operator: str | None,
    cpus: float | None,
    memory: float | None,
    restarts: int | None,
    assigned: tuple[tuple[str, str], ...],
    files: tuple[Path, ...],
    assignments: tuple[str, ...],
    name: str | None,
    keep: bool,
    light: bool,
    assist: bool | None,
) -> None:
    """Run an experiment on this machine, show it live, and exit with its outcome.

    It is either the experiment in FILE (- is standard input), or PROGRAM in N equal workers. Everything after --
    reaches PROGRAM exactly as written. --operator decides how the workers find each other. Without --cpus and --memory
    they share what is free on this machine equally.

    A cluster and the daemon are started for it and end with it; where `muster local up` runs, that cluster is used, and
    a run that does not fit beside what runs there is refused.
    Pods are processes of this machine: they begin in this directory and get this shell's environment, with its active
    Python. Run what you would run as a script.

    Python in the pods is helped (spec.assist), unless the manifest or --no-assist turns that off: a bare
    jax.distributed.initialize() joins, a failure of one rank does not wait for the others, `muster stacks` works.

    Ctrl-C cancels: the pods get SIGTERM and their grace period, which is 3 s for PROGRAM. A second one stops them at
    once. A program that does not exist is not restarted, whatever the manifest has.

    Exit status: 0 succeeded, 1 failed, 2 invalid manifest, 3 ended by a deadline, 130 interrupted.
    """
    words = program_words(ctx)
    stated = {"-n": workers, "--operator": operator, "--cpus": cpus, "--memory": memory, "--restarts": restarts}
    _check_usage(file, words, [name for name, value in stated.items() if value is not None], bool(assignments), light)
    given = read_env_files(files) | dict(assigned)
    room = asyncio.run(_room())
    if words is not None and workers is not None:
        manifest = _program(words, room, workers, operator or "jax", cpus, memory, restarts or 0, given)
    else:
        manifest = read_manifest(file or "", assignments, share=room.share if light else None)
    manifest = manifest.assisted(assist, default=True)
    loaded = manifest.loaded
    notes = [*map(str, loaded.notes), *manifest.changes]
    if words is not None and operator is None and (note := torch_note(words, "--operator pytorch")):
        notes.append(note)
    name = name or name_for(loaded, manifest.file)
    plan = manifest.plan(name=name, namespace=loaded.namespace or "default")
    print_warnings(loaded.warnings)
    say(*(f"note: {plain(line)}" for line in notes))
    who = f"the pods of {manifest.file} need"
    if workers is not None:
        who = f"{workers} workers need" if workers > 1 else "1 worker needs"
    room.refuse(plan, who, cut=not words and not light)
    environment = run_environment(os.environ, given, plan)
    if words and environment.program(words[0]) is None:
        raise click.UsageError(f"there is no program {words[0]!r} here or on PATH, or it is not executable")
    ctx.exit(asyncio.run(_execute(manifest, plan, environment, words or (), keep=keep)))


async def _execute(
    manifest: Manifest, plan: Plan, environment: RunEnvironment, words: Sequence[str], *, keep: bool
) -> int:
    directory = Path.cwd()
    with Interrupts() as interrupts:
        async with AsyncExitStack() as parts:
            starting = parts.enter_async_context(local_cluster(keep=keep))
            cluster = await interrupts.guard(asyncio.create_task(starting, name="run-start"))
            if cluster is None:
                return INTERRUPTED
            say(*map(plain, environment.remarks(directory)))
            parts.enter_context(
                write_caller(cluster.callers, plan.namespace, plan.name, Caller(environment.variables, directory))
            )
            client = await parts.enter_async_context(client_of(cluster.kubeconfig))
            seen = await client.submit(
                manifest.loaded, name=plan.name, namespace=plan.namespace, filename=manifest.file
            )
            say(f"submitted {seen.namespace}/{seen.name}")
            if plan.notice:
                where = ClusterChoice(cluster.kubeconfig, None, seen.namespace).flags
                say(plain(f"in another terminal: muster logs {seen.name}{where}"))
            with choose_display() as display:
                follower = RunFollower(client, seen, display, plan, cluster)
                last = await follower.to_the_end(interrupts)
            if follower.cut_short and not cluster.children:
                await _kill(client, seen)
            say(*follower.traceback())
            say(*await follower.last_lines())
            say(follower.outcome())
            if advice := hint(follower.printed(), environment.python(words)):
                say(plain(advice))
        return INTERRUPTED if interrupts.count else status_of(last.outcome)


async def _kill(client: Client, seen: Snapshot) -> None:
    """Kill the programs on a cluster that keeps running: the grace period of their pods would outlive this command."""
    with suppress(MusterError, OSError):
        for member in await client.members(seen.name, namespace=seen.namespace):
            if member.running and member.process is not None:
                send(member.process, signal.SIGKILL)


async def _room() -> Room:
    running = Home(default_home()).running()
    if not running:
        return Room.of_this_machine()
    async with client_of(Path(running.kubeconfig)) as client:
        return await read_room(client)


def _check_usage(
    file: str | None, words: list[str] | None, stated: Sequence[str], assignments: bool, light: bool
) -> None:
    """Raise ``UsageError`` unless there is a manifest, or a program after ``--``, with the options that go with it."""
    if words is None:
        if stated:
            raise click.UsageError(f"{stated[0]} goes with a program after --; a manifest states it itself")
        if file is None:
            raise click.UsageError(
                "no FILE, and no program: muster run manifest.yaml, or muster run -n 4 -- python train.py"
            )
        return
    if file is not None:
        raise click.UsageError(f"either a manifest ({file}) or a program after --, not both")
    if not words:
        raise click.UsageError("no program after --; write for instance: muster run -n 4 -- python train.py")
    if "-n" not in stated:
        raise click.UsageError("state how many workers run the program: muster run -n 4 -- ...")
    if assignments or light:
        raise click.UsageError("--set and --ignore-resources change a manifest; PROGRAM has none")


def _program(
    words: list[str],
    room: Room,
    workers: int,
    operator: str,
    cpus: float | None,
    memory: float | None,
    restarts: int,
    given: Collection[str],
) -> Manifest:
    """Return the experiment of a program, and what each worker gets beside what runs already."""
    _, row = PROGRAMS[operator]
    share = room.share(workers, Share(**row.beside) if row.beside else None)
    share = Share(cpus or share.cpus, memory or share.memory)
    if others := room.note("default"):
        say(f"note: {others}; each worker gets {share.cpus:g} CPU and {share.memory:g} GB of memory")
    loaded = program_manifest(words, workers=workers, restarts=restarts, share=share, operator=operator, given=given)
    return Manifest("", "", loaded)
